#!/usr/bin/env bash
# Measures a copy from agent to agent beside a shell's mariadb-backup | mbstream, in turns. Called by scripts/bench.sh.
#
#   SEED_MB=1000     megabytes of rows
#   ROUNDS=5         how often each copies; medians count
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

export SEED_MB=${SEED_MB:-1000} ROUNDS=${ROUNDS:-5}
[[ $SEED_MB =~ ^[1-9][0-9]*$ ]] || die "SEED_MB is $SEED_MB; it is a number from 1"
[[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is $ROUNDS; it is a number from 1"

echo "==> bench seed: $SEED_MB MB, $ROUNDS rounds" >&2
go test -c -o "$work/agent.test" ./agent
quiet_from
(cd agent && "$work/agent.test" -test.run '^TestSeedSpeed$' -test.v -test.timeout 6h) >"$work/out" 2>&1 || { cat "$work/out" >&2; die "the rounds did not come to their end"; }
line=$(grep -o '^SEED .*' "$work/out") || { cat "$work/out" >&2; die "no rounds were measured"; }
echo "$line" >&2
ratio=${line##* }
if [[ ${KEEP_ROWS:-yes} == yes ]]; then
	figure seed "agents / shell" "$ratio" ">=" 0.9 "${line#SEED }"
fi
[[ -z $missed ]] || die "missed:${missed#;}"
