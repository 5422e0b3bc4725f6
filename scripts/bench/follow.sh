#!/usr/bin/env bash
# Measures how long after a client has sent a change its line of `stowage follow` can be read, while clients change rows at a
# rate, in transactions of five rows, on one server with sync_binlog=1; beside it, on the same stream at the same time, Debezium's embedded
# engine and Maxwell. Called by scripts/bench.sh.
#
#   FOLLOW_RATE=5000   changes a second
#   FOLLOW_SECONDS=20  a round, after fifteen seconds that nobody counts
#   FOLLOW_ROUNDS=3    each figure is the median of all rounds
#   FOLLOW_PEERS=no    measures Stowage alone; without it a JDK and Maven are installed from Debian where they are missing (root)
#   KEEP_ROWS=no       writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"
source scripts/maven.sh
trap 'rm -rf "$work"' EXIT

rate=${FOLLOW_RATE:-5000}
[[ $rate =~ ^[1-9][0-9]*$ ]] || die "FOLLOW_RATE is $rate; it is a number from 1"

debezium=3.5.0.Final # the newest whose connector for MariaDB is there
maxwell=1.22.6       # the newest on Maven Central
tools=$PWD/scripts/bench/tools kept=${XDG_CACHE_HOME:-$HOME/.cache}/stowage

# peers prints a line NAME=COMMAND for each that can be started. Both run with what they do by themselves, but Debezium looks for new records every
# 10 ms instead of every half second, and keeps its position as often as we do.
peers() {
	need_java javac default-jdk-headless mvn maven
	from_maven "debezium-$debezium" io.debezium:debezium-{api,embedded,connector-mariadb}:$debezium
	from_maven "maxwell-$maxwell" "com.zendesk:maxwell:$maxwell"
	javac -nowarn -cp "$kept/debezium-$debezium/lib/*" -d "$work/classes" "$tools/debezium/Lines.java"
	javac -d "$work/classes" "$tools/maxwell/jdk/nashorn/api/scripting/ScriptObjectMirror.java"
	echo "Debezium=java -cp $kept/debezium-$debezium/lib/*:$work/classes Lines {host} {port} {user} {password} shop {dir}"
	echo "Maxwell=java -cp $work/classes:$kept/maxwell-$maxwell/lib/* com.zendesk.maxwell.Maxwell --user={user} --password={password} --host={host} --port={port}" \
		"--producer=stdout --replica_server_id=990003 --filter=exclude:*.*,include:shop.*"
}

echo "==> bench follow: $rate changes a second" >&2
[[ ${FOLLOW_PEERS:-yes} == no ]] || peers >"$work/peers" || die "the peers could not be fetched; FOLLOW_PEERS=no measures without them"
go test -c -o "$work/follow.test" ./follow
quiet_from
(cd follow && BENCH_FOLLOW=$rate FOLLOW_PEERS=$(cat "$work/peers" 2>/dev/null || true) "$work/follow.test" -test.run '^TestBenchLag$' -test.v) >"$work/out" 2>&1 || { cat "$work/out" >&2; die "the measurement did not come to its end"; }
grep -E '^(lag|none) ' "$work/out" >&2 || { cat "$work/out" >&2; die "nothing was measured"; }

# of NAME: rate, median, p99, longest lag in ms, processor seconds, seconds; of each the median of all rounds. Nothing when a round lacks it.
of() {
	local rounds column
	rounds=$(grep -c '^lag ours ' "$work/out")
	(($(grep -c "^lag $1 " "$work/out") == rounds)) || return 0
	for column in 4 6 8 10 13 16; do
		awk -v name="$1" -v c="$column" '$1 == "lag" && $2 == name { print $c }' "$work/out" | sort -n | sed -n "$(((rounds + 1) / 2))p"
	done | xargs
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? a / b : 0 }'; }

read -r real median p99 most cpu seconds <<<"$(of ours)"
((real * 10 >= rate * 9)) || echo "the clients came to $real changes a second of $rate" >&2
[[ ${KEEP_ROWS:-yes} == yes ]] || exit 0
figure follow "median lag, ms" "$median" "<=" 100 "$real changes a second, median of $(grep -c '^lag ours ' "$work/out") rounds; p99 $p99 ms, longest $most ms; processor time of the follower $cpu s of $seconds s"
for peer in "Debezium $debezium" "Maxwell $maxwell"; do
	name=${peer%% *}
	if [[ ! $(of "$name") ]]; then
		echo "$peer was not measured: $(sed -n "s/^none $name //p" "$work/out" | head -n 1)" >&2
		continue
	fi
	read -r _ its_median its_p99 its_most its_cpu _ <<<"$(of "$name")"
	figure follow "median lag / $name's" "$(ratio "$median" "$its_median")" "<=" 1 "ms: ours $median, $peer $its_median, on the same stream at the same time"
	figure follow "p99 lag / $name's" "$(ratio "$p99" "$its_p99")" "<=" 1 "ms: ours $p99, longest $most; $peer $its_p99, longest $its_most"
	figure follow "processor time / $name's" "$(ratio "$cpu" "$its_cpu")" "<=" 1 "CPU-s in $seconds s: ours $cpu, $peer $its_cpu"
done
[[ -z $missed ]] || die "missed:${missed#;}"
