#!/usr/bin/env bash
# Measures how long after a client has sent a change its line of `stowage follow` can be read, while clients change rows at a
# rate, in transactions of five rows, on one server with sync_binlog=1. Called by scripts/bench.sh.
#
#   FOLLOW_RATE=5000   changes a second
#   FOLLOW_SECONDS=30
#   KEEP_ROWS=no       writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

rate=${FOLLOW_RATE:-5000}
[[ $rate =~ ^[1-9][0-9]*$ ]] || die "FOLLOW_RATE is $rate; it is a number from 1"

echo "==> bench follow: $rate changes a second" >&2
go test -c -o "$work/follow.test" ./follow
quiet_from
(cd follow && BENCH_FOLLOW=$rate "$work/follow.test" -test.run '^TestBenchLag$' -test.v) >"$work/out" 2>&1 || { cat "$work/out" >&2; die "the measurement did not come to its end"; }
line=$(grep -oE '^lag .*' "$work/out") || { cat "$work/out" >&2; die "nothing was measured"; }
echo "$line" >&2
read -r _ _ real _ median _ p99 _ most _ _ cpu _ <<<"$line"
((real * 10 >= rate * 9)) || echo "the clients came to $real changes a second of $rate" >&2
if [[ ${KEEP_ROWS:-yes} == yes ]]; then
	figure follow "median lag, ms" "$median" "<=" 100 "$real changes a second; p99 $p99 ms, longest $most ms; processor time of follower, clients and reader together $cpu s"
fi
[[ -z $missed ]] || die "missed:${missed#;}"
