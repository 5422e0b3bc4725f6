#!/usr/bin/env bash
# Compares `stowage inventory load` with runs of each shard alone: e2e/long/load with longer windows, median of three rounds.
# Called by scripts/bench.sh. LOAD_SECONDS=n and LOAD_ROUNDS=n for other windows.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

[[ -x bin/stowage-live ]] || go build -trimpath -tags livetest -o bin/stowage-live ./cmd/stowage || die "the program for tests does not build"
export LOAD_SECONDS=${LOAD_SECONDS:-60} LOAD_ROUNDS=${LOAD_ROUNDS:-3} STOWAGE_LIVE=$PWD/bin/stowage-live
echo "==> bench load: four shards alone and together, $LOAD_ROUNDS rounds of $LOAD_SECONDS s, plain and prepared statements" >&2
quiet_from
go test -v -count=1 -timeout 2h ./e2e/long/load >"$work/log" 2>&1 || true # what was not reached is in the rows
sed -n 's/^ *[a-z_]*test.go:[0-9]*: //p' "$work/log" >&2
while IFS=$'\t' read -r way cpu io together_cpu together_io sum_cpu sum_io; do
	figure load "$way: CPU share, furthest from alone, %" "$cpu" "<=" 12 "together by alone: $together_cpu"
	figure load "$way: I/O share, furthest from alone, %" "$io" "<=" 12 "together by alone: $together_io"
	figure load "$way: sum of CPU by the counter of its cgroup, off by" "$(awk -v s="$sum_cpu" 'BEGIN { d = s - 1; printf "%.3f", d < 0 ? -d : d }')" "<=" 0.10 "$sum_cpu"
	figure load "$way: sum of I/O by the counter of its disk, off by" "$(awk -v s="$sum_io" 'BEGIN { d = s - 1; printf "%.3f", d < 0 ? -d : d }')" "<=" 0.10 "$sum_io"
done < <(sed -n 's/^.*FIGURE //p' "$work/log")
grep -q FIGURE "$work/log" || { tail -20 "$work/log" >&2; die "nothing was measured"; }

[[ ! $missed ]] || die "goals that were not reached: ${missed#; }"
