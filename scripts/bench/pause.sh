#!/usr/bin/env bash
# Measures the pause of writes in a switchover: ROUNDS times (100) there and back between a primary and the instance that is to
# take its place, on an otherwise idle pair under light load, with full durability. Called by scripts/bench.sh.
#
# Fails when a client's query failed or the ledger is not whole; the rows are written all the same when the rounds came to an end.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

rounds=${ROUNDS:-100}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is $rounds; it is a number from 1"
[[ -x bin/stowage-engine ]] || die "build first: make build"

echo "==> bench pause: $rounds switchovers there and back" >&2
go test -c -o "$work/over.test" ./e2e/long/switchover
quiet_from
failed=
(cd e2e/long/switchover && STOWAGE_PAUSE_ROUNDS=$rounds "$work/over.test" -test.run '^TestPauses$' -test.v -test.timeout 2h) >"$work/out" 2>&1 || failed=1
line=$(grep -o 'pauses=.*' "$work/out") || { cat "$work/out" >&2; die "the rounds did not come to their end"; }
get() { sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" <<<"$line"; }

what="$(get pauses) switchovers under light load, $(get acknowledged) writes acknowledged"
if [[ ${KEEP_ROWS:-yes} == yes ]]; then
	figure pause "median pause of writes, ms" "$(get p50)" "<=" 50 "$what"
	figure pause "p99 pause of writes, ms" "$(get p99)" "<=" 300 "$what"
	figure pause "longest pause of writes, ms" "$(get max)" "<=" 1000 "$what; the published figure of ghostferry and gh-ost is about a second"
	figure pause "failed queries" "$(get failed)" "==" 0 "$what; run again after error 1290: $(get retried)"
fi
echo "$line" >&2
[[ -z $failed ]] || { cat "$work/out" >&2; die "something was lost or failed"; }
[[ -z $missed ]] || die "missed:${missed#;}"
