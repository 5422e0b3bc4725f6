#!/usr/bin/env bash
# Widens a column of a large table under load: by gh-ost, spirit and pt-online-schema-change, by the server's own ALTER TABLE, and by `stowage alter`,
# each on a primary-replica pair of its own with the same rows, in turns. Called by scripts/bench.sh.
#
#   ALTER_ROWS=n     rows of the table (1500000)
#   ALTER_POOL=n     MB of each server's buffer pool (1024); 128 is less than a third of 1500000 rows
#   ROUNDS=n         how often each does it (3); medians count
#   PARTS="..."      some of: quiet gh-ost pt-osc spirit plain alone stowage; all without it
#   SERVERS="..."    some of: mariadb-10.11 mariadb-11.8 mysql-9.7; all without it
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
#
# Needs MariaDB 11.8 and MySQL 9.7 (`make flavors`), for gh-ost 1.1.8 knows no MariaDB 10.11; what is missing is said. gh-ost and spirit are built outside of the repository, in
# ~/.cache/stowage/peers or $STOWAGE_PEERS. Fails when a program failed, rows differ, `stowage alter` or the server lost a write, or `stowage alter` missed its goal; the rows are written all the same.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

rows=${ALTER_ROWS:-1500000} rounds=${ROUNDS:-3} pool=${ALTER_POOL:-1024}
for n in "$rows" "$rounds" "$pool"; do [[ $n =~ ^[1-9][0-9]*$ ]] || die "ALTER_ROWS, ALTER_POOL and ROUNDS are numbers from 1; one is $n"; done
[[ -x bin/stowage-engine ]] || die "build first: make build"
export STOWAGE_PEERS=${STOWAGE_PEERS:-$HOME/.cache/stowage/peers}

# peer FILE MODULE VERSION PACKAGE HASH HASH: builds a program of others, in a module of its own. The hashes are the module's and its go.mod's, as go.sum has them.
peer() {
	local to=$STOWAGE_PEERS/$1-$3
	[[ ! -x $to ]] || return 0
	echo "==> bench alter: building $1 $3 into $STOWAGE_PEERS" >&2
	mkdir -p "$STOWAGE_PEERS" "$work/$1"
	(
		cd "$work/$1"
		go mod init peer
		go mod edit -require "$2@$3"
		printf '%s %s %s\n%s %s/go.mod %s\n' "$2" "$3" "$5" "$2" "$3" "$6" >go.sum
		CGO_ENABLED=0 go build -mod=mod -trimpath -o "$to" "$4"
	) >"$work/$1.log" 2>&1 || { tail -5 "$work/$1.log" >&2; die "$1 $3 does not build"; }
}

if wanted gh-ost; then
	peer gh-ost github.com/github/gh-ost v1.1.8 github.com/github/gh-ost/go/cmd/gh-ost \
		h1:gWi5YVg6E2Pt7MLbAjatLHwP2nuU9ohVM1lwyMiPbDk= h1:XVUEFLOcM31VxA/pvm1YMolnDWlzVyvsqZy9OZKVJ8k=
fi
if wanted spirit; then
	peer spirit github.com/block/spirit v0.10.1 github.com/block/spirit/cmd/spirit \
		h1:JTr5E7gKV3TUx3qX6ftflOk14dEf08pQQhATEigvJQM= h1:lruAfWdjVMrcTem3sMIKVwvcYqDmHlf5Jsz2g/mE+ME=
fi
go build -trimpath -tags livetest -o bin/stowage-live ./cmd/stowage || die "the program for tests does not build"
export STOWAGE_LIVE=$PWD/bin/stowage-live

echo "==> bench alter: $rows rows, a pool of $pool MB, $rounds rounds" >&2
go test -c -o "$work/alter.test" ./e2e/long/alter
quiet_from
failed=
(cd e2e/long/alter && ALTER_ROWS=$rows ALTER_POOL=$pool ROUNDS=$rounds "$work/alter.test" -test.run '^TestWideningBesidePeers$' -test.v -test.timeout 6h) >"$work/out" 2>&1 || failed=1
grep -E '^ *[a-z_]+\.go:[0-9]+: NOT TESTED' "$work/out" >&2 || true
grep -q FIGURE "$work/out" || { tail -40 "$work/out" >&2; die "nothing was measured"; }
while IFS=$'\t' read -r leg line seconds latency pause lost bytes faster p99 what; do
	echo "$line, $what: $seconds s, p50 / p99 / max $latency ms, pause $pause ms, failed / again / lost $lost, $bytes MB, $faster times as fast as the best peer, p99 $p99 times its p99" >&2
	[[ ${KEEP_ROWS:-yes} != yes ]] || row alter "| $(date -u +%F) | $line, $rows rows, pool of $pool MB, $rounds round$( ((rounds == 1)) || echo s) | $what | $seconds | $latency | $pause | $lost | $bytes | $faster | $p99 | $(noise) |" >/dev/null
	[[ $leg == stowage && $faster != - ]] || continue
	awk -v a="$faster" 'BEGIN { exit !(a + 0 >= 2) }' || missed+="; $line: $faster times as fast as the best peer, not 2"
	awk -v a="$p99" 'BEGIN { exit !(a + 0 <= 1) }' || missed+="; $line: its p99 is $p99 times that of the best peer"
done < <(sed -n 's/^.*FIGURE\t//p' "$work/out")
[[ ! $failed ]] || { grep -v FIGURE "$work/out" | tail -60 >&2; die "something was lost or differs, or a program failed"; }
[[ -z $missed ]] || die "missed:${missed#;}"
