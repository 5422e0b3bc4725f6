#!/usr/bin/env bash
# Measures how fast one database is carried from one MariaDB into another by both carriers, the copier alone and the copier that
# hands over to the target's own replication, beside mydumper with myloader on the same data, in turns; and how many rows a second
# both carriers apply of what was written meanwhile. Called by scripts/bench.sh.
#
#   COPIER_MB=500    megabytes of the database
#   ROUNDS=3         how often each carries it; medians count
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

megabytes=${COPIER_MB:-500}
rounds=${ROUNDS:-3}
[[ $megabytes =~ ^[1-9][0-9]*$ ]] || die "COPIER_MB is $megabytes; it is a number from 1"
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is $rounds; it is a number from 1"

echo "==> bench copier: $megabytes MB, $rounds rounds" >&2
go test -c -o "$work/copier.test" ./copier
quiet_from
(cd copier && BENCH_COPIER=$megabytes ROUNDS=$rounds "$work/copier.test" -test.run '^TestBenchBesideMyloader$' -test.v -test.timeout 6h) >"$work/out" 2>&1 ||
	{ cat "$work/out" >&2; die "the rounds did not come to their end"; }
# median COLUMN [BEGINNING]: of the lines that begin so.
median() { grep -o "^${2:-round} .*" "$work/out" | awk -v c="$1" '{ print $c }' | sort -n | awk '{ a[NR] = $1 } END { print (NR % 2) ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }
ours=$(median 4) theirs=$(median 6) native=$(median 12)
applied=$(median 6 "applied by copier5:") replicated=$(median 6 "applied by native5:")
applied_large=$(median 6 "applied by copier500:") replicated_large=$(median 6 "applied by native500:")
grep -oE '^(round|applied) .*' "$work/out" >&2
[[ $ours && $theirs ]] || { cat "$work/out" >&2; die "no rounds were measured"; }
ratio=$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.2f", a / b }')
echo "copier $ours s, mydumper and myloader $theirs s, ratio $ratio; with the target's own replication $native s" >&2
echo "applied, transactions of 5 rows: copier $applied rows/s, the target's own replication $replicated rows/s" >&2
echo "applied, transactions of 500 rows: copier $applied_large rows/s, the target's own replication $replicated_large rows/s" >&2
if [[ ${KEEP_ROWS:-yes} == yes ]]; then
	figure copier "myloader's time / the copier's" "$ratio" ">=" 1.0 "$megabytes MB, $rounds rounds; copier $(rounded 1 "$ours") s, mydumper and myloader $(rounded 1 "$theirs") s, $(awk -v m="$megabytes" -v s="$ours" 'BEGIN { printf "%.1f", m / s }') MB/s; handing over to replication $(rounded 1 "$native") s; applied afterwards, transactions of 5 and of 500 rows: copier $applied and $applied_large rows/s, replication $replicated and $replicated_large rows/s"
fi
[[ -z $missed ]] || die "missed:${missed#;}"
