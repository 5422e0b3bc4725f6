#!/usr/bin/env bash
# Measures what a call to one of 150 agents costs the engine and both ends, as an activity of its own and as a workflow, in the same
# rounds; and what the agents' polls cost the engine while nothing happens. Called by scripts/bench.sh.
#
#   CALLS=1500              calls in each way and round; three rounds
#   BENCH_IDLE=60s          how long nothing happens
#   ENGINE_BEFORE=FILE      another stowage-engine, measured in turns with bin/stowage-engine
#   KEEP_ROWS=no            writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

export BENCH_CALLS=${CALLS:-1500} BENCH_IDLE=${BENCH_IDLE:-60s}
[[ $BENCH_CALLS =~ ^[1-9][0-9]*$ ]] || die "CALLS is $BENCH_CALLS; it is a number from 1"
[[ -x bin/stowage-engine ]] || die "build first: make build"

echo "==> bench engine-calls: $BENCH_CALLS calls in each way, three rounds" >&2
go test -c -o "$work/engine.test" ./engine
quiet_from
(cd engine && "$work/engine.test" -test.run '^TestBenchCalls$' -test.v -test.timeout 2h) >"$work/out" 2>&1 || { cat "$work/out" >&2; die "the rounds did not come to their end"; }
grep -o '^CALLS .*' "$work/out" >&2 || { cat "$work/out" >&2; die "nothing was measured"; }
# median ENGINE WAY COLUMN: nothing for an engine that was not measured.
median() { { grep -o "^CALLS $1 [0-9] $2 .*" "$work/out" || true; } | awk -v c="$3" '{ print $c }' | sort -n | awk '{ a[NR] = $1 } END { if (NR) print (NR % 2) ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }
keep() { if [[ ${KEEP_ROWS:-yes} == yes ]]; then figure engine-calls "$@"; fi; }
own=$(median this activity 5) workflow=$(median this workflow 5) before=$(median before workflow 5)
base=${before:-$workflow}
keep "a call: engine CPU / as it was" "$(awk -v a="$own" -v b="$base" 'BEGIN { printf "%.2f", a / b }')" "<=" 0.5 "ms of the engine's CPU: $own as an activity, $workflow as a workflow${before:+, $before as a workflow in the engine before}; of both ends together $(median this activity 8) and $(median this workflow 8); medians of 3 rounds of $BENCH_CALLS calls to 150 agents, 8 at once"
idle=$(median this idle 5)
keep "150 agents idle: engine, % of a core" "$idle" "<=" 3 "two polls an agent, for $BENCH_IDLE${before:+; the engine before $(median before idle 5)}"
[[ -z $missed ]] || die "missed:${missed#;}"
