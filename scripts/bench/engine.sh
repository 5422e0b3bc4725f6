#!/usr/bin/env bash
# Measures what a transaction costs with each engine, how many servers this machine carries and how many writes a replica can follow, by
# `stowage bench engine`, and whether that can be believed: one cell measured twice must write the same bytes, and doublewrite must show.
# Called by scripts/bench.sh. MyRocks is left out where its plugin is not.
#
#   PARTS=engines    or twice, instances, replication; without it all
#   PLACE=DIR        where: default /var/tmp. The mount point of a device of its own tells more
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"

ours=$PWD/bin/stowage
[[ -x $ours ]] || die "build first: make build"
place=${PLACE:-$(mktemp -d /var/tmp/stowage-bench-engine.XXXXXX)}
trap '[[ ${PLACE:-} ]] || rm -rf "$place"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$place"

keep() { if [[ ${KEEP_ROWS:-yes} == yes ]]; then figure engine "$@"; else echo "$*" >&2; fi; }
# of FILE EXPRESSION: r is the result, row("id") one of its rows.
of() { /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
row = lambda id: next(x for x in r["rows"] if x["id"] == id)
text = eval(sys.argv[2], {"r": r, "row": row, "max": max, "min": min, "abs": abs})
print(text if isinstance(text, str) else "%.3g" % text)' "$1" "$2"; }
measure() { # NAME ARGS...
	echo "==> bench engine: ${*:2}" >&2
	quiet_from
	"$ours" bench engine "$place" --save "$work/$1.json" "${@:2}" >&2 || die "bench engine ${*:2} failed"
}

if wanted twice; then
	measure twice --cells innodb-16k-relaxed,innodb-16k-nodw-relaxed,innodb-4k-relaxed --loads update --rows 30000 --ratio 4 --runtime 2s
	b='row("innodb-16k-relaxed/update")["written_bytes_per_tx"]["settled"]'
	what="update, three runs of 2 s, data/cache $(of "$work/twice.json" 'row("innodb-16k-relaxed/update")["data_cache_ratio"]'), relaxed 2/0, bytes by $(of "$work/twice.json" 'r["bytes_from"]'), settled"
	keep "one cell measured twice: bytes/tx differ by a factor of" "$(of "$work/twice.json" "max(${b/update/update again}/$b, $b/${b/update/update again})")" "<=" 1.1 "$what"
	keep "its tps differ by a factor of" "$(of "$work/twice.json" 'max(r["noise"]["aa"]["ratio"], 1/r["noise"]["aa"]["ratio"])')" ">=" 1 "$what"
	keep "bytes/tx without doublewrite / with" "$(of "$work/twice.json" "row('innodb-16k-nodw-relaxed/update')['written_bytes_per_tx']['settled']/$b")" "<=" 0.7 "$what"
	keep "bytes/tx, pages of 4 KiB / of 16 KiB" "$(of "$work/twice.json" "row('innodb-4k-relaxed/update')['written_bytes_per_tx']['settled']/$b")" "<=" 0.7 "$what"
fi
if wanted engines; then
	measure engines
	while IFS='|' read -r id tps cpu p99 during settled amplification size rss durability ratio debt; do
		keep "$id, tx/CPU-s" "$cpu" ">=" 0 "$tps tps, p99 $p99 ms, $during KiB written/tx ($settled settled$debt), amplification $amplification, $size MiB on disk, RSS $rss MiB; $durability, data/cache $ratio"
	done < <(of "$work/engines.json" '"\n".join("%s|%.0f|%.0f|%.1f|%.1f|%.1f|%.0f|%d|%d|%s|%.2g|%s" % (x["id"], x["tps"]["mean"], x["tx_per_cpu_second"]["mean"], x["lat_us"]["p99"]/1000, x["written_bytes_per_tx"]["during"]/1024, x["written_bytes_per_tx"]["settled"]/1024, (x.get("write_amplification") or {}).get("settled", 0), x["size_bytes"]["settled"]>>20, x["rss_bytes"]>>20, x["durability"], x["data_cache_ratio"], ", LSM debt not paid" if x["lsm_debt_not_paid"] else "") for x in r["rows"])')
fi
if wanted instances; then
	measure instances --n-instances 1,2,4,8
	keep "instances at once: the knee is not before" "$(of "$work/instances.json" 'r["knees"][0]["at"]')" ">=" 1 "innodb-16k, rw, one client each; $(of "$work/instances.json" '", ".join("%d: %.0f tps together, %.0f us CPU/tx, worst p99 %.0f ms" % (x["instances"], x["tps"]["mean"], x["cpu_us_per_tx"], max(x.get("worst_instance_p99_us", 0), x["lat_us"]["p99"])/1000) for x in r["rows"])')"
fi
if wanted replication; then
	measure replication --replication
	keep "a replica applies, writes/s at best" "$(of "$work/replication.json" 'max(x["tps"]["mean"] for x in r["rows"])')" ">=" 0 "innodb-16k, write, durable 1/1 with log_slave_updates, backlog of $(of "$work/replication.json" '"%d" % r["settings"]["backlog_transactions"]') by 8 clients; $(of "$work/replication.json" '", ".join("%d %s: %.0f (%.0f %% of the primary)" % (x.get("apply_threads", 0), x.get("apply_mode", ""), x["tps"]["mean"], 100*x["keeps_up"]) for x in r["rows"])')"
fi
[[ -z $missed ]] || die "missed:${missed#;}"
