#!/usr/bin/env bash
# Measures what a side costs the engine and the program in a run of thousands of pairs, beside runs of sixty, and how full the window
# stays; the large run is killed in the middle, program and engine, and continued. Called by scripts/bench.sh.
#
#   PAIRS=6000       pairs of two sides
#   AT_ONCE=64       pairs on their way at once
#   SCALE=0.33       what the measured durations of steps (act/testdata/measured-steps.tsv) are multiplied by
#   SMALL_ROUNDS=3   runs of sixty pairs before the large one, and as many after it
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

pairs=${PAIRS:-6000}
[[ $pairs =~ ^[1-9][0-9]*$ ]] || die "PAIRS is $pairs; it is a number from 1"
[[ -x bin/stowage-engine ]] || die "build first: make build"
export BENCH_SCALE=$pairs AT_ONCE=${AT_ONCE:-64} SCALE=${SCALE:-0.33} SMALL_ROUNDS=${SMALL_ROUNDS:-3} PATH=$PWD/bin:$PATH

echo "==> bench engine-scale: $pairs pairs, $AT_ONCE at once, durations times $SCALE" >&2
go test -c -o "$work/act.test" ./act
quiet_from
status=0
(cd act && "$work/act.test" -test.run '^TestBenchScale$' -test.v -test.timeout 6h) >"$work/out" 2>&1 || status=$?
grep -o '^SCALE .*' "$work/out" >&2 || { cat "$work/out" >&2; die "nothing was measured"; }
keep() { if [[ ${KEEP_ROWS:-yes} == yes ]]; then figure engine-scale "$@"; fi; }
while IFS='|' read -r _ name value what; do
	case $name in
	"cost of a side"*) keep "$name" "$value" "<=" 1.3 "$what" ;;
	"places of the window"*) keep "$name" "$value" ">=" 75 "$what" ;;
	*) keep "$name" "$value" ">=" 0 "$what" ;;
	esac
done < <(grep -o '^SCALE figure|.*' "$work/out")
[[ $status == 0 ]] || { grep -A3 -e '--- FAIL' "$work/out" >&2; die "TestBenchScale failed${missed:+; missed:${missed#;}}"; }
[[ -z $missed ]] || die "missed:${missed#;}"
