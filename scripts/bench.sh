#!/usr/bin/env bash
# Measures what Stowage promises and adds a row each to docs/measuring/benchmarks.md. `make bench` has done the set-up and the build before.
#
#   BENCH=demo     the default demo: 12 pairs, 24 hosts to 6
#   BENCH=etsy     60 pairs with 16 shards each, 120 hosts to 30
#   BENCH=digest   a slow log of 400 MB and a capture, beside pt-query-digest, a Go library and grep
#   BENCH=compare  what `stowage digest compare` claims falsely, and what it finds, on load that drifts slowly
#   BENCH=plan     Etsy, farms of 1,200 and 12,000 servers beside a public prototype, public packing instances
#   BENCH=copier   one database between two servers, beside mydumper and myloader; COPIER_MB=n for its size
#   BENCH=warm     the first minute of a side that was restarted, with warming and without, on slow disks; a quarter of an hour; ROUNDS=n
#   BENCH=pause    100 switchovers there and back between a primary and its successor; ROUNDS=n for another number
#   BENCH=seed     a copy from agent to agent, beside mariadb-backup | mbstream between the same directories
#   BENCH=inventory  10,000 instances and 100,000 shards in eight sources, compared with each other
#   BENCH=capacity  days that are left of 500 generated series, beside a straight line and Prometheus' predict_linear
#   BENCH=load     what each shard uses, measured together and alone; LOAD_SECONDS=n, LOAD_ROUNDS=n for other windows
#   BENCH=engine   what a transaction costs with each engine, by `stowage bench engine`
#   BENCH=reboots  the 150 machines of `make bench-etsy` are rebooted under load, a fault a minute: needs root and 12 GB; not part of all
#   BENCH=engine-scale  a run of 6,000 pairs beside runs of sixty, killed in the middle: a quarter of an hour
#   BENCH=engine-calls  what a call to one of 150 agents costs the engine
#   BENCH=roll     rolling restarts, an option and a minor upgrade under load, beside a shell loop of restarts
#   BENCH=backup   backups beside mariadb-backup, zstd and restic by hand, and what clients feel of them; BACKUP_MB=n, ROUNDS=n, PARTS=...; ten minutes
#   BENCH=follow   how long after a change its line of `stowage follow` can be read; beside Debezium and Maxwell; FOLLOW_RATE=n, FOLLOW_SECONDS=n, FOLLOW_PEERS=no
#   BENCH=alter    a column is widened under load, beside gh-ost, spirit, pt-online-schema-change and the server's ALTER TABLE; ALTER_ROWS=n, ROUNDS=n; half an hour
#   BENCH=reshape  snapshots of tenants by size, normalised and denormalised, and the fill-in beside one UPDATE; ROWS=n (30000000), an hour
#   BENCH=snapshot  a tenant written as JSON lines, CSV and Parquet, beside `mariadb --quick`; SNAPSHOT_ROWS=n, ROUNDS=n; two minutes
#   BENCH=storage  whether `stowage bench` can be believed: throttled devices, fio by hand, a disk against itself
#
# Several names may be given, with blanks between; without BENCH: all. One that fails does not keep the others from running.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=
for name in ${BENCH:-demo etsy digest compare plan pause warm copier roll alter follow reshape seed backup snapshot storage engine inventory capacity load engine-calls engine-scale}; do
	case $name in
	demo | etsy) scripts/bench/demo.sh "$name" || failed+=" $name" ;;
	reboots) scripts/bench/etsy.sh reboots || failed+=" $name" ;;
	digest | compare | plan | pause | warm | copier | roll | alter | follow | reshape | seed | backup | snapshot | storage | engine | inventory | capacity | load | engine-calls | engine-scale) "scripts/bench/$name.sh" || failed+=" $name" ;;
	*)
		echo "bench: BENCH is $name; it is demo, etsy, digest, compare, plan, pause, warm, copier, roll, alter, follow, reshape, seed, backup, snapshot, storage, engine, inventory, capacity, load, engine-calls, engine-scale or reboots" >&2
		exit 2
		;;
	esac
done
[[ ! $failed ]] || { echo "bench: failed:$failed" >&2; exit 1; }
