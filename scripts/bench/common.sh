# Shared by the benchmarks: how a row gets into docs/measuring/benchmarks.tsv and the page beside it, and how busy the machine was. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

doc=docs/measuring/benchmarks.md
work=$(mktemp -d)

die() { echo "bench: $*" >&2; exit 1; }

# How busy the machine is with other things: the time of a fixed loop, the load, and what the kernel says was taken from us.
loop_ms() {
	local from=${EPOCHREALTIME/./} i
	for ((i = 0; i < 1000000; i++)); do :; done
	echo $(((${EPOCHREALTIME/./} - from) / 1000))
}
steal() { awk '$1 == "cpu" { print $9, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat; }
load() { cut -d' ' -f1 /proc/loadavg; }
# stalled prints the microseconds in which some process waited for the CPU, or nothing where the kernel does not count them.
stalled() { sed -n 's/^some .*total=//p' /proc/pressure/cpu 2>/dev/null || true; }

# quiet_from remembers how things stand before a measurement, noise tells afterwards what it was like.
quiet_from() {
	loop_before=$(loop_ms) load_before=$(load) steal_before=$(steal) stalled_before=$(stalled)
}
noise() {
	echo -n "loop ${loop_before} to $(loop_ms) ms, load before ${load_before}, $(echo "$steal_before $(steal)" | awk '{ all = $4 - $2; printf "steal %.1f %%", all ? 100 * ($3 - $1) / all : 0 }')"
	if [[ $stalled_before ]]; then
		echo -n ", CPU waited for $((($(stalled) - stalled_before) / 1000000)) s"
	fi
}

# row TABLE LINE adds a line of a table, | cell | cell |, to docs/measuring/benchmarks.tsv, and makes the page's tables of it.
row() {
	grep -qF "<!-- $1 rows end -->" "$doc" || die "$doc has lost the marker of its table $1"
	awk -v table="$1" -v line="$2" 'BEGIN { gsub(/^\| | \|$/, "", line); gsub(/ \| /, "\t", line); print table "\t" line }' >>"${doc%.md}.tsv"
	scripts/bench/tables.sh
	echo "$2"
}

rounded() { printf "%.${1}f" "$2"; }

# figure TABLE NAME VALUE RELATION LIMIT WHAT adds a row and remembers in missed whether the goal was reached.
missed=
figure() {
	local verdict=yes
	awk -v a="$3" -v op="$4" -v b="$5" 'BEGIN { exit !(op == ">=" ? a >= b : op == "<=" ? a <= b : a == b) }' || { verdict="**no**"; missed+="; $2"; }
	row "$1" "| $(date -u +%F) | $2 | $3 | $4 $5 | $verdict | $6 | $(noise) |"
}

# wanted PART says whether a part of a benchmark is to run: PARTS names some, with blanks between; without it, all.
wanted() { [[ ! ${PARTS:-} || " $PARTS " == *" $1 "* ]]; }
