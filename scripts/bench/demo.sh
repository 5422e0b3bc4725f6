#!/usr/bin/env bash
# Measures a whole demo, with the memory of everything it starts. Called by scripts/bench.sh with demo or etsy.
#
# Fails when a run loses, doubles or fails anything; its row is written all the same.
source "$(dirname "$0")/common.sh"

dir=/var/tmp/stowage-bench
sampler=

end() {
	[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true
	bin/stowage demo down -C "$dir" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

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

# field NAME FILE prints a number or a word of the top level of the summary.
field() { sed -n "s/^ \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2"; }

measure() { # NAME FLAGS...
	local name=$1 out=$work/$1.json failed= peak
	shift
	echo "==> bench $name: stowage demo $*" >&2
	bin/stowage demo down -C "$dir" >/dev/null 2>&1 || true
	: >"$work/memory"
	quiet_from
	sample &
	sampler=$!
	bin/stowage demo "$@" -C "$dir" --json >"$out" || failed="exit code $?"
	kill "$sampler"
	wait "$sampler" 2>/dev/null || true
	sampler=
	[[ -n $(field seconds "$out") ]] || die "$name did not come to its end ($failed)"
	peak=$(sort -n "$work/memory" | tail -n 1)
	said=$(noise)
	demo_row "$out" "$peak" "stowage demo${*:+ $*}"
	compare "$name" "$out" "$peak"
	local key
	for key in lost_writes duplicated_writes failed_queries stale_reads differing_tables; do
		[[ $(field $key "$out") == 0 ]] || failed+=" $key is $(field $key "$out")"
	done
	[[ -z $failed ]] || die "$name: $failed"
}

demo_row() { # SUMMARY PEAK COMMAND
	local line row_of=$1
	get() { field "$1" "$row_of"; }
	line="| $(date -u +%F) | \`$3\` | $(get hosts_before) to $(get hosts_after) | $((2 * $(get pairs))) | $(get shards) "
	line+="| $(rounded 0 "$(get seconds)") | $(rounded 0 "$(get move_seconds)") | $2 "
	line+="| $(get acknowledged_writes) | $(get lost_writes) | $(get duplicated_writes) | $(get failed_queries) "
	line+="| $(rounded 0 "$(get max_pause_ms)") | $(rounded 1 "$(get p99_before_ms)") to $(rounded 1 "$(get p99_after_ms)") | $said |"
	row demo "$line"
}

# The hand-made prototype moved the 60 pairs with sync_binlog=0 and flush=2: building 19 s, moving 136 s, 4.3 GB at the peak.
compare() { # NAME SUMMARY PEAK
	[[ $1 == etsy ]] || return 0
	echo "    hand-made prototype, relaxed durability, no comparison of rows: 155 s, of these moving 136 s; 4300 MB" \
		"| here, full durability: $(rounded 0 "$(field seconds "$2")") s, moving $(rounded 0 "$(field move_seconds "$2")") s; $3 MB"
}

[[ -x bin/stowage && -x bin/stowage-engine ]] || die "build first: make build"
case $1 in
demo) measure demo ;;
etsy) measure etsy --pairs 60 --shards 16 --hosts 30 ;;
esac
