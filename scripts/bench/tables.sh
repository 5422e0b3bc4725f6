#!/usr/bin/env bash
# Makes the tables of docs/measuring/benchmarks.md from the rows in benchmarks.tsv beside it: of tables of figures the newest row of each figure,
# of others all rows. Called after each measurement; `scripts/bench/tables.sh --check` only says whether the page is up to date.
set -euo pipefail
cd "$(dirname "$0")/../../docs/measuring"

made=$(mktemp)
trap 'rm -f "$made"' EXIT
awk -F '\t' '
	NR == FNR { # rows, the newest last
		if (FNR == 1) next
		line = "|"
		for (i = 2; i <= NF; i++) line = line " " $i " |"
		n[$1]++
		rows[$1, n[$1]] = line
		name[$1, n[$1]] = $3 "\t" $5 # a figure and its goal
		newest[$1, $3 "\t" $5] = n[$1]
		next
	}
	/^\| date \|/ { figures = /\| goal \| reached \|/ }
	/^\| 20/ { next }
	match($0, /^<!-- [a-z-]+ rows end -->/) {
		table = $0
		sub(/^<!-- /, "", table); sub(/ rows end -->.*/, "", table)
		for (i = 1; i <= n[table]; i++) if (!figures || newest[table, name[table, i]] == i) print rows[table, i]
		known[table] = 1
	}
	{ print }
	END { for (key in n) if (!known[key]) { print "bench: benchmarks.md has no table " key > "/dev/stderr"; exit 1 } }
' benchmarks.tsv benchmarks.md >"$made"
if [[ ${1:-} == --check ]]; then
	cmp -s "$made" benchmarks.md || { echo "docs/measuring/benchmarks.md is not what benchmarks.tsv says: scripts/bench/tables.sh" >&2; exit 1; }
else
	cmp -s "$made" benchmarks.md || cat "$made" >benchmarks.md
fi
