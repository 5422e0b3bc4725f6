#!/usr/bin/env bash
# Measures whole demos and adds a row each to docs/benchmarks.md. `make bench` has done the set-up and the build before.
#
#   BENCH=demo   the default demo: 12 pairs, 24 hosts to 6
#   BENCH=etsy   60 pairs with 16 shards each, 120 hosts to 30
#
# Without BENCH: both. Fails when a run loses, doubles or fails anything; its row is written all the same.
set -euo pipefail
cd "$(dirname "$0")/.."

doc=docs/benchmarks.md
dir=/var/tmp/stowage-bench
work=$(mktemp -d)
sampler=

end() {
	[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true
	bin/stowage demo down -C "$dir" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

die() { echo "bench: $*" >&2; exit 1; }

# family prints the processes that name the demo's directory in their arguments, and all of their descendants.
family() {
	local named
	named=$(grep -slF "$dir" /proc/[0-9]*/cmdline | cut -d/ -f3 | tr '\n' ' ')
	# /proc/PID/stat is "pid (any text) state ppid ...".
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/ (.*) / /' | awk -v named="$named" '
		BEGIN { n = split(named, list, " "); for (i = 1; i <= n; i++) in_it[list[i]] = 1 }
		{ parent[$1] = $3 }
		END {
			do {
				more = 0
				for (p in parent) if (!(p in in_it) && (parent[p] in in_it)) { in_it[p] = 1; more = 1 }
			} while (more)
			for (p in in_it) print p
		}'
}

# memory prints the memory of the family in MB: proportional shares, so that pages of one program file count once.
memory() {
	local p
	for p in $(family); do
		cat "/proc/$p/smaps_rollup" 2>/dev/null || true
	done | awk '$1 == "Pss:" { sum += $2 } END { printf "%d\n", sum / 1024 }'
}

sample() {
	while :; do
		memory >>"$work/memory"
		sleep 1
	done
}

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

# field NAME FILE prints a number or a word of the top level of the summary.
field() { sed -n "s/^ \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2"; }
rounded() { printf "%.${1}f" "$2"; }

measure() { # NAME FLAGS...
	local name=$1 out=$work/$1.json failed= peak
	shift
	echo "==> bench $name: stowage demo $*" >&2
	bin/stowage demo down -C "$dir" >/dev/null 2>&1 || true
	: >"$work/memory"
	local loop_before load_before steal_before stalled_before
	loop_before=$(loop_ms) load_before=$(load) steal_before=$(steal) stalled_before=$(stalled)
	sample &
	sampler=$!
	bin/stowage demo "$@" -C "$dir" --json >"$out" || failed="exit code $?"
	kill "$sampler"
	wait "$sampler" 2>/dev/null || true
	sampler=
	[[ -n $(field seconds "$out") ]] || die "$name did not come to its end ($failed)"
	peak=$(sort -n "$work/memory" | tail -n 1)
	noise="loop ${loop_before} to $(loop_ms) ms, load before ${load_before}, $(echo "$steal_before $(steal)" | awk '{ all = $4 - $2; printf "steal %.1f %%", all ? 100 * ($3 - $1) / all : 0 }')"
	if [[ $stalled_before ]]; then
		noise+=", CPU waited for $((($(stalled) - stalled_before) / 1000000)) s"
	fi
	row "$out" "$peak" "stowage demo${*:+ $*}"
	compare "$name" "$out" "$peak"
	local key
	for key in lost_writes duplicated_writes failed_queries stale_reads differing_tables; do
		[[ $(field $key "$out") == 0 ]] || failed+=" $key is $(field $key "$out")"
	done
	[[ -z $failed ]] || die "$name: $failed"
}

row() { # SUMMARY PEAK COMMAND
	local line row_of=$1
	get() { field "$1" "$row_of"; }
	line="| $(date -u +%F) | \`$3\` | $(get hosts_before) to $(get hosts_after) | $((2 * $(get pairs))) | $(get shards) "
	line+="| $(rounded 0 "$(get seconds)") | $(rounded 0 "$(get move_seconds)") | $2 "
	line+="| $(get acknowledged_writes) | $(get lost_writes) | $(get duplicated_writes) | $(get failed_queries) "
	line+="| $(rounded 0 "$(get max_pause_ms)") | $(rounded 1 "$(get p99_before_ms)") to $(rounded 1 "$(get p99_after_ms)") | $noise |"
	grep -qF '<!-- demo rows end -->' "$doc" || die "$doc has lost its marker <!-- demo rows end -->"
	awk -v line="$line" '/<!-- demo rows end -->/ { print line } { print }' "$doc" >"$work/doc"
	cat "$work/doc" >"$doc"
	echo "$line"
}

# The hand-made prototype moved the 60 pairs with sync_binlog=0 and flush=2: building 19 s, moving 136 s, 4.3 GB at the peak.
compare() { # NAME SUMMARY PEAK
	[[ $1 == etsy ]] || return 0
	echo "    hand-made prototype, relaxed durability, no comparison of rows: 155 s, of these moving 136 s; 4300 MB" \
		"| here, full durability: $(rounded 0 "$(field seconds "$2")") s, moving $(rounded 0 "$(field move_seconds "$2")") s; $3 MB"
}

[[ -x bin/stowage && -x bin/stowage-engine ]] || die "build first: make build"
[[ -f $doc ]] || die "$doc is not there"
case ${BENCH:-all} in
demo) measure demo ;;
etsy) measure etsy --pairs 60 --shards 16 --hosts 30 ;;
all)
	measure demo
	measure etsy --pairs 60 --shards 16 --hosts 30
	;;
*) die "BENCH is $BENCH; it is demo or etsy" ;;
esac
