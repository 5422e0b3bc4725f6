#!/usr/bin/env bash
# Measures what carrying the latest child on its parent is worth, on the cloud file system of examples/egnyte-files in one MariaDB whose buffer pool is a quarter of the data: how long a tenant's
# snapshot takes by each form of the normalised query and by the denormalised one, by the size of the tenant; and how fast `stowage reshape` fills in without a throttle, beside one multi-table
# UPDATE of the same rows. Called by scripts/bench.sh.
#
#   ROWS=30000000     versions; 3000000 for a quick run (ten minutes)
#   ROUNDS=1          how often each snapshot is read from an empty pool; medians count
#   LIMIT=600         seconds after which a statement is ended and counted as slower
#   FILL_ROWS=2000    files of one transaction of the fill-in
#   RATE=300          changes of children a second, beside which the columns are kept by nothing, by the applier and by triggers; SECONDS_EACH=20 for each
#   FILL_VERSIONS=1000000  beside whose fill-in, throttled, clients change RATE children a second: alone and beside it in turns, FILL_ROUNDS=3 of SECONDS_EACH
#   ONLY=applier      measures that and nothing else: two minutes; ONLY=fill: what clients feel of the throttled fill-in
#   KEEP_ROWS=no      writes nothing into docs/measuring/benchmarks.md
#
# Needs 300 bytes of disk for each version, in /tmp or TMPDIR.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

# kept measures what keeps the columns current.
kept() {
	echo "==> bench reshape: ${RATE:-300} changes a second" >&2
	go build -trimpath -tags livetest -o bin/stowage-live ./cmd/stowage || die "the program for tests does not build"
	quiet_from
	STOWAGE_LIVE=$PWD/bin/stowage-live FARMS=${FARMS:-/dev/shm} BENCH_APPLIER="${RATE:-300}" BENCH_SECONDS="${SECONDS_EACH:-20}" go test ./e2e/reshape -run '^TestBenchApplier$' -count=1 -v -timeout 30m >"$work/kept" 2>&1 || { cat "$work/kept" >&2; die "the measurement did not come to its end"; }
	grep '^applier ' "$work/kept" >&2
	[[ ${KEEP_ROWS:-yes} == yes ]] || return 0
	local noise line
	noise=$(noise)
	while IFS= read -r line; do
		of() { sed -n "s/.*\b$1=\([a-z0-9.]*\).*/\1/p" <<<"$line"; }
		lag=$(of lag_p50_ms)
		row reshape-applier "| $(date -u +%F) | $(of keep) | $(of rate) | $(of p50_ms) | $(of p99_ms) | $(of servers_cpu_ms) | $(of program_cpu_ms) | ${lag:--} | $(of lag_p95_ms | grep . || echo -) | $noise |"
	done < <(grep '^applier ' "$work/kept")
}

# throttled measures what clients feel of the fill-in as `stowage reshape` does it.
throttled() {
	local versions=${FILL_VERSIONS:-1000000} line
	echo "==> bench reshape: ${RATE:-300} changes a second beside the fill-in of $versions versions" >&2
	go build -trimpath -tags livetest -o bin/stowage-live ./cmd/stowage || die "the program for tests does not build"
	quiet_from
	STOWAGE_LIVE=$PWD/bin/stowage-live FARMS=${FARMS:-/dev/shm} BENCH_FILL="${RATE:-300}" BENCH_VERSIONS="$versions" BENCH_SECONDS="${SECONDS_EACH:-20}" BENCH_ROUNDS="${FILL_ROUNDS:-3}" \
		go test ./e2e/reshape -run '^TestBenchFill$' -count=1 -v -timeout 2h >"$work/throttled" 2>&1 || { cat "$work/throttled" >&2; die "the measurement did not come to its end"; }
	grep -E '^fill(ing)? ' "$work/throttled" >&2
	[[ ${KEEP_ROWS:-yes} == yes ]] || return 0
	line=$(grep '^filling ' "$work/throttled")
	of() { sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" <<<"$line"; }
	figure reshape-goals "clients' p99 beside the throttled fill-in / alone" "$(of ratio)" "<=" 1.10 \
		"$versions versions, $(of changes) changes at ${RATE:-300} a second; p99 $(of alone_p99_ms) ms alone, $(of beside_p99_ms) ms beside it (median $(of alone_p50_ms) and $(of beside_p50_ms) ms); $(of rows_per_second) rows/s are left"
}
case ${ONLY:-} in
applier | fill)
	if [[ $ONLY == applier ]]; then kept; else throttled; fi
	[[ -z $missed ]] || die "missed:${missed#;}"
	exit 0
	;;
esac

rows=${ROWS:-30000000}
[[ $rows =~ ^[1-9][0-9]*$ ]] || die "ROWS is $rows; it is a number from 1"
free=$(df --output=avail -B1 "${TMPDIR:-/tmp}" | tail -n 1)
((free > rows * 300)) || die "${TMPDIR:-/tmp} has $((free >> 20)) MB free, and $rows versions take $((rows * 300 >> 20)) MB; ROWS=n for fewer"

echo "==> bench reshape: $rows versions" >&2
go test -c -o "$work/files.test" ./examples/egnyte-files/files
quiet_from
# Its servers must be on a disk: FARMS would put them into memory.
(cd examples/egnyte-files/files && env -u FARMS BENCH_RESHAPE="$rows" ROUNDS="${ROUNDS:-1}" LIMIT="${LIMIT:-600}" "$work/files.test" -test.run '^TestBenchSnapshots$' -test.v -test.timeout 24h) >"$work/out" 2>&1 ||
	{ cat "$work/out" >&2; die "the measurement did not come to its end"; }
grep -E '^(generated|size|filled|snapshot) ' "$work/out" >&2
svg=$work/sizes.svg
[[ ${KEEP_ROWS:-yes} != yes ]] || svg=$PWD/docs/measuring/snapshots-by-size.svg
BENCH_LOG=$work/out BENCH_SVG=$svg "$work/files.test" -test.run '^TestBenchTable$' -test.v >"$work/table" || { cat "$work/table" >&2; die "the measurement cannot be shown"; }
sed -n 's/^row | //p' "$work/table" >&2
[[ ${KEEP_ROWS:-yes} == yes ]] || exit 0

field() { sed -n "s/^$1 .*\b$2=\([0-9.]*\).*/\1/p" "$work/out" | sed -n "${3:-1}p"; }
noise=$(noise) pool=$(field size pool_mb) all=$(field size all_mb 2)
while IFS= read -r line; do
	row reshape "| $(date -u +%F) | $rows versions, $all MB, pool $pool MB | $line | $noise |"
done < <(sed -n 's/^row | //p' "$work/table")
# What binds is the largest tenant: its columns 7, 8 and 9 are the two ratios and that of the rows read.
largest=$(sed -n 's/^row | //p' "$work/table" | tail -n 1)
cell() { cut -d'|' -f"$1" <<<"$largest" | sed 's/[> ]*\([0-9.e+]*\).*/\1/'; }
figure reshape-goals "better normalised form / denormalised, largest tenant" "$(cell 7)" ">=" 3 "$rows versions"
figure reshape-goals "worst normalised form / denormalised, largest tenant" "$(cell 8)" ">=" 10 "$rows versions"
figure reshape-goals "rows read, better normalised form / denormalised" "$(cell 9)" ">=" 2 "$rows versions; handler reads"
figure reshape-goals "speed of the fill-in / that of one UPDATE" "$(awk -v a="$(field filled rows_per_second 2)" -v b="$(field filled rows_per_second 1)" 'BEGIN { printf "%.2f", a / b }')" ">=" 0.6 \
	"$rows versions, $(field filled rows) files; one UPDATE $(field filled seconds 1) s, fill-in by tenants $(field filled seconds 2) s"
kept
throttled
[[ -z $missed ]] || die "missed:${missed#;}"
