#!/usr/bin/env bash
# Measures `stowage inventory check`: 10,000 instances and 100,000 shards in eight sources besides farm.yaml, with 20 mistakes.
# Called by scripts/bench.sh.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

ours=$PWD/bin/stowage
[[ -x bin/stowage ]] || die "build first: make build"
(cd scripts/bench/tools && go build -o "$work/" ./sourcesgen ./measure) || die "the tools of this benchmark do not build"

echo "==> bench inventory: 10,000 instances, 100,000 shards, 8 sources" >&2
quiet_from
mkdir -m 755 "$work/farm"
mistakes=$("$work/sourcesgen" "$work/farm" 5000 100000) || die "no farm was made"
# The first round keeps the claims of all sources, later ones find them kept. Exit code 1 is what mistakes give.
"$work/measure" -rounds 3 "x=$ours -C $work/farm inventory check --json >$work/report.json; test \$? = 1" >"$work/took" || die "the check failed"
found=$(grep -c '^   "check":' "$work/report.json" || true)
claims=$(sed -n 's/^ "claims": \([0-9]*\),$/\1/p' "$work/report.json")
figure inventory "10,000 instances, 100,000 shards, 8 sources: seconds" "$(rounded 1 "$(cut -f 5 "$work/took")")" "<=" 10 "$claims claims, files read and checked; median of 3"
figure inventory "the same: memory, MB" "$(cut -f 6 "$work/took")" "<=" 1000 "the most of 3"
figure inventory "the same: conflicts found" "$found" "==" "$mistakes" "as many as mistakes were put in"

[[ ! $missed ]] || die "goals that were not reached: ${missed#; }"
