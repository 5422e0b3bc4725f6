#!/usr/bin/env bash
# Carries out the plan of examples/etsy-2016 on machines of its own, or reboots all of them, under load and faults, and adds a row to docs/measuring/benchmarks.md.
#
#   scripts/bench/etsy.sh [reboots]
#
#   make bench-etsy                the whole farm: 120 servers, 960 shards, onto 30 hosts, one fault a minute
#   PAIRS=2 EVERY=15 make ...      two of the 60 pairs, a fault every 15 seconds; no row is added unless it is the whole farm
#   SEED=s                         other faults in another order (1)
#   BENCH=reboots make bench       the 150 machines are rebooted; OUT=n at once (8)
#
# Needs root, for network namespaces. Fails when anything is lost, doubled, failed, stale or fenced; its row is written all the same. At
# its end, also after Ctrl-C, nothing of it is left but /var/tmp/stowage-etsy.move.log; what a kill -9 leaves, the next run clears.
source "$(dirname "$0")/common.sh"

[[ -x bin/stowage && -x bin/stowage-engine ]] || die "build first: make build"
[[ $EUID == 0 ]] || die "it needs root: every host is a network namespace"

case ${1:-} in
'') table=etsy test=TestEtsyFarmForReal ;;
reboots) table=reboots test=TestEtsyFarmIsRebooted ;;
*) die "not known: $1" ;;
esac
export PAIRS=${PAIRS:-60} SEED=${SEED:-1} EVERY=${EVERY:-60} STOWAGE_ETSY_DIR=/var/tmp/stowage-etsy STOWAGE_ETSY_SUM=$work/sum.json
child=
trap 'rm -rf "$work"' EXIT
# The program takes its farm down by itself when it is told to stop.
trap '[[ -z $child ]] || { kill "$child" 2>/dev/null; wait "$child"; }; exit 130' INT TERM HUP

echo "==> bench $table: $PAIRS pairs, seed $SEED, a fault every $EVERY s" >&2
go test -c -o "$work/etsy.test" ./e2e/long/etsy
quiet_from
failed=
(cd e2e/long/etsy && exec "$work/etsy.test" -test.run "^$test\$" -test.v -test.timeout 0) &
child=$!
wait "$child" || failed="exit code $?"
child=
[[ -s $STOWAGE_ETSY_SUM ]] || die "it did not come to its end ($failed)"

line="| $(date -u +%F) | $(cat "$STOWAGE_ETSY_SUM") | $(noise) |"
if [[ $PAIRS == 60 ]]; then row "$table" "$line"; else echo "$line"; fi
[[ -z $failed ]] || die "$failed"
