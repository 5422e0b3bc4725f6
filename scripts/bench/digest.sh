#!/usr/bin/env bash
# Measures `stowage digest` beside pt-query-digest, the Go library that other tools use, and grep, on the same files in the
# same rounds: slow logs and a packet capture of sysbench against a MariaDB of its own. Some 40 minutes, nearly all of it
# pt-query-digest's. Called by scripts/bench.sh.
#
# The logs are kept in /var/tmp/stowage-bench-digest for the next time; remove the directory for new ones.
#   ROUNDS=3   how often every command runs
#   PARTS="speed threads classes merging capture comparing"   which of it
#   scripts/bench/digest.sh logs   makes the logs and no more
source "$(dirname "$0")/common.sh"

dir=/var/tmp/stowage-bench-digest
port=${PORT:-13999}
rounds=${ROUNDS:-3}
server=
tap=

end() {
	[[ -z $tap ]] || kill "$tap" 2>/dev/null || true
	if [[ $server ]]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

sql() { mariadb --no-defaults -S "$work/sock" -u root -e "$1"; }

start_server() {
	echo "==> bench digest: a MariaDB on 127.0.0.1:$port" >&2
	mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --datadir="$work/data" ${user:+--user="$user"} >"$work/install.log" 2>&1 ||
		die "mariadb-install-db failed: $(tail -n 3 "$work/install.log")"
	mariadbd --no-defaults --datadir="$work/data" --socket="$work/sock" --port="$port" --bind-address=127.0.0.1 --tmpdir="$work" \
		--innodb-buffer-pool-size=512M --innodb-log-file-size=512M --innodb-flush-log-at-trx-commit=2 ${user:+--user="$user"} >"$work/server.log" 2>&1 &
	server=$!
	for _ in $(seq 300); do
		! sql 'select 1' >/dev/null 2>&1 || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	die "the server did not start: $(tail -n 3 "$work/server.log")"
}

sysbench_load() { # FLAGS... the sysbench mix that every log here is made of
	sysbench oltp_read_write --db-driver=mysql --mysql-host=127.0.0.1 --mysql-port="$port" --mysql-user=sb --mysql-password=sb \
		--mysql-db=sbtest --tables=16 --table-size=50000 "$@"
}

# queries reads sysbench's own count of what it sent.
queries() { sed -n 's/^ *total: *\([0-9]*\)$/\1/p' "$1"; }

make_logs() {
	mkdir -p "$dir"
	user=
	((EUID != 0)) || user=root
	start_server
	sql "CREATE DATABASE sbtest; CREATE USER sb@'127.0.0.1' IDENTIFIED BY 'sb'; GRANT ALL ON sbtest.* TO sb@'127.0.0.1'"
	sysbench_load --threads=2 prepare >/dev/null
	local n=0 size=0 log
	while ((n < 3 || size < 400000000)); do
		n=$((n + 1)) log=$dir/A$n.log
		echo "==> bench digest: recording $log, 60 s of sysbench at 5,500 queries a second" >&2
		rm -f "$work/slow.log"
		sql "SET GLOBAL slow_query_log_file='$work/slow.log', log_slow_filter='', log_slow_verbosity='query_plan,innodb', long_query_time=0, slow_query_log=1"
		sysbench_load --threads=4 --rate=275 --time=60 --db-ps-mode=disable run >"$work/load"
		sql "SET GLOBAL slow_query_log=0"
		mv "$work/slow.log" "$log"
		queries "$work/load" >"$log.queries"
		size=$((size + $(stat -c %s "$log")))
	done
	echo "==> bench digest: recording a capture and a slow log of the same run" >&2
	sql "SET GLOBAL slow_query_log_file='$work/slow.log', slow_query_log=1"
	tcpdump -i lo -s 65535 -B 65536 -w "$work/cap.pcap" "tcp port $port" 2>"$work/tcpdump.log" &
	tap=$!
	sleep 2
	sysbench_load --threads=4 --rate=500 --time=15 --db-ps-mode=disable run >"$work/load"
	sleep 2
	kill -INT "$tap"
	wait "$tap" || true
	tap=
	sql "SET GLOBAL slow_query_log=0"
	mv "$work/slow.log" "$dir/paired.log"
	mv "$work/cap.pcap" "$dir/cap.pcap"
	echo "$port" >"$dir/port"
	kill "$server"
	wait "$server" || true
	server=
	cat "$dir"/A*.log >"$dir/all.log"
	gzip -k -f "$dir/all.log"
	zstd -q -f "$dir/all.log" -o "$dir/all.log.zst"
	touch "$dir/whole"
}

# One measurement: "name=command" each; the lines of measure go to $work/took.
take() { # ROUNDS CASES...
	local n=$1
	shift
	"$work/measure" -rounds "$n" "$@" >"$work/took"
	column -t -s $'\t' -N "command,CPU s median,least,most,wall s,MB,least wall s" "$work/took" >&2
}
took() { awk -F '\t' -v name="$1" -v field="$2" '$1 == name { print $field }' "$work/took"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.*f", a / b < 10 ? 2 : 0, a / b }'; }

[[ -x bin/stowage ]] || die "build first: make build"
(cd scripts/bench/tools && go build -o "$work/" ./measure ./gomysql) || die "the tools of this benchmark do not build"
[[ -e $dir/whole ]] || make_logs
[[ ${1:-} != logs ]] || exit 0
ours=$PWD/bin/stowage
all=$dir/all.log
size=$(stat -c %s "$all")
events=$(cat "$dir"/A*.log.queries | awk '{ sum += $1 } END { print sum }')
cat "$all" "$dir/cap.pcap" >/dev/null
echo "==> bench digest: $((size / 1000000)) MB, $events events" >&2

one="GOMAXPROCS=1 $ours digest"

if wanted speed; then
	# Every figure of the first table rests on the count being right.
	quiet_from
	counted=$($ours digest --json --top 1 "$all" | sed -n 's/^ "events": \([0-9]*\),$/\1/p' | head -n 1)
	figure digest "events counted, of those that sysbench sent" "$counted" "==" "$events" "slow log, $((size / 1000000)) MB"

	take "$rounds" "grep=grep -c '^# Query_time' $all | cat" "one=$one $all" "two=GOMAXPROCS=2 $ours digest $all" \
		"gz=$one $all.gz" "gzip=gzip -dc $all.gz" "zst=$one $all.zst" "zstd=zstd -dcq $all.zst" \
		"library=GOMAXPROCS=1 $work/gomysql $all" "perl=pt-query-digest $all"
	what="CPU medians of $rounds rounds; here $(took one 2) s, grep $(took grep 2) s, library $(took library 2) s, pt-query-digest $(took perl 2) s"
	figure digest "pt-query-digest's CPU / ours" "$(ratio "$(took perl 2)" "$(took one 2)")" ">=" 200 "$what"
	figure digest "the Go library's CPU / ours" "$(ratio "$(took library 2)" "$(took one 2)")" ">=" 25 "$what"
	figure digest "our CPU / grep -c's" "$(ratio "$(took one 2)" "$(took grep 2)")" "<=" 1.5 "$what"
	figure digest "memory, MB" "$(took two 6)" "<=" 64 "the peak, two threads; one: $(took one 6)"
	figure digest ".gz: our CPU / gzip -dc" "$(ratio "$(took gz 2)" "$(took gzip 2)")" "<=" 1.5 "$(took gz 2) s and $(took gzip 2) s"
	figure digest ".zst: our CPU / (zstd -dc + ours on text)" "$(ratio "$(took zst 2)" "$(awk -v a="$(took zstd 2)" -v b="$(took one 2)" 'BEGIN { print a + b }')")" "<=" 1.5 \
		"$(took zst 2) s, zstd -dc $(took zstd 2) s"
fi

if wanted threads; then
	echo "==> bench digest: two threads" >&2
	quiet_from
	# A tenth of a second is soon disturbed, and a shared processor is twice as fast in one minute as in the next: many rounds,
	# and the median of the ratios within them. The medians of all rounds, and the least, to which nobody else has added, are
	# told beside it; and what two processes that share nothing get done, each with a half of the log: what the machine gives.
	head -c $((size / 2)) "$all" >"$work/first.log"
	tail -c +$((size / 2 + 1)) "$all" >"$work/second.log"
	threads() { # WHAT IT IS CALLED, HOW THEY ARE RUN
		take 121 -paired one/two "one=$2 $one $all" "two=$2 GOMAXPROCS=2 $ours digest $all" "apart=($2 $one $work/first.log & $2 $one $work/second.log; wait)"
		figure digest "wall of one thread / of two$1" "$(took one/two 2)" ">=" 1.8 "median of 121 rounds' ratios, 95 % between $(took one/two 3) and $(took one/two 4); medians $(took one 5) s and $(took two 5) s; the least of each $(ratio "$(took one 7)" "$(took two 7)"), $(took one 7) s and $(took two 7) s; two processes with half the log each take $(took apart 5) s, $(took apart 7) s at least"
	}
	threads "" ""
	# Two threads are disturbed by whoever takes one processor, one thread is not: it moves to the other. Before everything else on
	# this machine, the program alone is measured; what the machine below takes (steal) stays in it.
	if chrt -f 20 true 2>/dev/null; then
		threads ", both before all other processes (chrt -f)" "chrt -f 20 env"
	fi
fi

if wanted classes; then
	echo "==> bench digest: 100,000 classes" >&2
	quiet_from
	[[ -e $dir/classes.log ]] || awk 'BEGIN {
		print "# Time: 2026-11-21T10:00:00.000000Z"
		for (i = 0; i < 300000; i++) {
			name = ""
			for (k = i % 100000; ; k = int(k / 26)) { name = name sprintf("%c", 97 + k % 26); if (k < 26) break }
			printf "# User@Host: app[app] @ web [10.0.0.1]  Id: 7\n# Query_time: 0.%06d  Lock_time: 0.000010 Rows_sent: 1  Rows_examined: 3\nSET timestamp=%d;\nselect a, b from class_%s_of_many where id = %d and state = \"open\";\n", i % 9000 + 20, 1795255200 + i / 1000, name, i
		}
	}' >"$dir/classes.log"
	take 3 "classes=$ours digest --json --top 10 $dir/classes.log" "every=$ours digest --json --top 0 $dir/classes.log"
	figure digest "memory with 100,000 classes, MB" "$(took classes 6)" "<=" 200 "all of them printed: $(took every 6) MB"
fi

if wanted merging; then
	echo "==> bench digest: merging" >&2
	quiet_from
	for log in "$dir"/A*.log; do
		$ours digest --save "$work/$(basename "$log" .log).digest" "$log" >/dev/null
	done
	classes() { sed -n '/^ "classes"/,$p'; }
	same=$(cmp -s <($ours digest --json --top 0 "$work"/A*.digest | classes) <($ours digest --json --top 0 "$all" | classes) && echo 1 || echo 0)
	figure digest "stored digests merged equal one pass (64 of them: TestMergeEqualsOnePass)" "$same" "==" 1 "every field of every class"
fi

if wanted capture; then
	echo "==> bench digest: capture" >&2
	quiet_from
	server_at="127.0.0.1:$(cat "$dir/port")"
	take "$rounds" "pcap=$one $dir/cap.pcap" \
		"perl=tcpdump -s 65535 -x -nn -q -tttt -r $dir/cap.pcap 2>/dev/null | pt-query-digest --type tcpdump --watch-server $server_at"
	figure digest "tcpdump and pt-query-digest's CPU / ours, pcap" "$(ratio "$(took perl 2)" "$(took pcap 2)")" ">=" 100 \
		"$(($(stat -c %s "$dir/cap.pcap") / 1000000)) MB; here $(took pcap 2) s, they $(took perl 2) s"
	# Statements only: a slow log has Quit and Connect of other times.
	per_class() { $ours digest --json --top 0 --filter 'not admin' "$1" | awk -F '"' '/^   "fingerprint"/ { f = $4 } /^   "count"/ { split($3, n, /[:, ]+/); print n[2], f }' | sort; }
	per_class "$dir/cap.pcap" >"$work/by_pcap"
	per_class "$dir/paired.log" >"$work/by_log"
	figure digest "classes whose counts in capture and slow log of one run differ" "$(diff "$work/by_pcap" "$work/by_log" | grep -c '^[<>]' || true)" "==" 0 \
		"$(wc -l <"$work/by_log") classes, $(awk '{ n += $1 } END { print n }' "$work/by_log") statements"
fi

if wanted comparing; then
	echo "==> bench digest: comparing" >&2
	quiet_from
	STOWAGE_CAPTURED_LOGS=$dir go test -count=1 -timeout 60m -run 'Captured' -v ./digest >"$work/compare" || { cat "$work/compare" >&2; missed+="; comparisons"; }
	share=$(sed -n 's/.*FIGURE false alarms.*, \([0-9.]*\) %$/\1/p' "$work/compare")
	found=$(sed -n 's/.*FIGURE class made two times slower found: \([0-9]*\) of \([0-9]*\);.*/\1 \2/p' "$work/compare" | awk '{ printf "%.1f", 100 * $1 / $2 }')
	figure digest "false alarms, % of judgements on 1,000 interleaved A/A splits" "${share:-100}" "<=" 6 "$(sed -n 's/.*FIGURE //p' "$work/compare" | head -n 1)"
	figure digest "one class 2 times slower found, % of runs" "${found:-0}" ">=" 90 "$(sed -n 's/.*FIGURE //p' "$work/compare" | tail -n 1)"
fi

[[ ! $missed ]] || die "goals that were not reached: ${missed#; }"
