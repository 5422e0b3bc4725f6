#!/usr/bin/env bash
# Measures how fast `stowage snapshot` writes a tenant in each format beside `mariadb --quick`, which writes the same columns of the same
# query to a file, in turns, from a warm pool. Called by scripts/bench.sh.
#
#   SNAPSHOT_ROWS=2000000   rows of the tenant
#   ROUNDS=5                how often each writes them; medians count
#   KEEP_ROWS=no            writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

rows=${SNAPSHOT_ROWS:-2000000}
rounds=${ROUNDS:-5}
[[ $rows =~ ^[1-9][0-9]*$ ]] || die "SNAPSHOT_ROWS is $rows; it is a number from 1"
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is $rounds; it is a number from 1"

echo "==> bench snapshot: $rows rows, $rounds rounds" >&2
go test -c -o "$work/snapshot.test" ./snapshot
quiet_from
(cd snapshot && BENCH_SNAPSHOT=$rows ROUNDS=$rounds "$work/snapshot.test" -test.run '^TestBenchBesideQuick$' -test.v -test.timeout 2h) >"$work/out" 2>&1 ||
	{ cat "$work/out" >&2; die "the rounds did not come to their end"; }
grep '^round ' "$work/out" >&2
# median COLUMN of the rounds.
median() { awk -v c="$1" '/^round / { print $c }' "$work/out" | sort -n | awk '{ a[NR] = $1 } END { print (NR % 2) ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }
quick=$(median 4)
[[ $quick ]] || { cat "$work/out" >&2; die "no rounds were measured"; }
for at in "jsonl 6" "csv 8" "parquet 10"; do
	read -r name column <<<"$at"
	ours=$(median "$column")
	ratio=$(awk -v a="$quick" -v b="$ours" 'BEGIN { printf "%.2f", a / b }')
	echo "$name: $ours s, mariadb --quick $quick s, ratio $ratio" >&2
	if [[ ${KEEP_ROWS:-yes} == yes ]]; then
		figure snapshot "speed of $name / mariadb --quick" "$ratio" ">=" 0.8 "$rows rows of five columns, medians of $rounds rounds: $name $(rounded 2 "$ours") s, mariadb --quick $(rounded 2 "$quick") s"
	fi
done
[[ -z $missed ]] || die "missed:${missed#;}"
