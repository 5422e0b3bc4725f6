#!/usr/bin/env bash
# Measures how far `stowage bench` can be believed: are devices that the kernel throttles ranked with the right factor, are our figures
# those of fio run by hand with the same job file, and is a disk measured twice found the same? Called by scripts/bench.sh.
# Throttling needs root and the blkio controller of cgroup v1.
#
#   PARTS=ranked     or overhead, itself; without it all
#   ROUNDS=5         of overhead
#   RESULTS=8        of itself: each is compared with each
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
source "$(dirname "$0")/common.sh"

ours=$PWD/bin/stowage
rounds=${ROUNDS:-5}
results=${RESULTS:-8}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is $rounds; it is a number from 1"
[[ $results =~ ^[1-9][0-9]+$|^[2-9]$ ]] || die "RESULTS is $results; it is a number from 2"
[[ -x $ours ]] || die "build first: make build"
command -v fio >/dev/null || die "there is no fio: scripts/setup.sh bench"

place=$(mktemp -d /var/tmp/stowage-bench-storage.XXXXXX)
control=/sys/fs/cgroup/blkio
loops=() groups=()
clear() {
	local i
	for i in "${!loops[@]}"; do
		umount "$place/mnt$i" 2>/dev/null || true
		losetup --detach "${loops[i]}" 2>/dev/null || true
	done
	for i in "${groups[@]}"; do rmdir "$i" 2>/dev/null || true; done
	rm -rf "$place" "$work"
}
trap clear EXIT
trap 'exit 130' INT TERM

keep() { if [[ ${KEEP_ROWS:-yes} == yes ]]; then figure storage "$@"; else echo "$*" >&2; fi; }

# throttled NUMBER READS WRITES makes a file system whose device does so many of each in a second, for processes of its group.
throttled() {
	local image=$place/image$1 mount=$place/mnt$1 number
	truncate -s 512M "$image"
	mkfs.ext4 -q -F "$image"
	loops[$1]=$(losetup --find --show --direct-io=on "$image")
	groups[$1]=$control/stowage-bench-$$-$1
	mkdir "$mount" "${groups[$1]}"
	mount "${loops[$1]}" "$mount"
	number=$(lsblk -dno MAJ:MIN "${loops[$1]}" | tr -d ' ')
	echo "$number $2" >"${groups[$1]}/blkio.throttle.read_iops_device"
	echo "$number $3" >"${groups[$1]}/blkio.throttle.write_iops_device"
}
within() { # NUMBER COMMAND...
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "${groups[$1]}" "${@:2}"
}
of() { /usr/bin/python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
print(eval(sys.argv[2], {"r": found}))' "$1" "$2"; }
median() { sort -n | awk '{ a[NR] = $1 } END { print (NR % 2) ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }
# beyond A B: by how many percent A/B is off from 1.
beyond() { awk -v a="$1" -v b="$2" 'BEGIN { d = 100 * (a / b - 1); printf "%.2f", d < 0 ? -d : d }'; }

can_throttle=
if ((EUID == 0)) && [[ -e $control/blkio.throttle.read_iops_device ]]; then
	can_throttle=yes
	throttled 0 3000 1200
	throttled 1 1000 400
else
	echo "bench storage: NOT MEASURED: ranking and overhead; they need root and the blkio controller of cgroup v1" >&2
fi

if wanted ranked && [[ $can_throttle ]]; then
	echo "==> bench storage: two throttled devices" >&2
	quiet_from
	for i in 0 1; do
		within $i "$ours" bench run "$place/mnt$i" --size 128MiB --runtime 3s --max-runs 5 --steps RND16K-R-Q8T1,RND16K-W-Q8T1 --save "$place/$i.json" >&2
	done
	"$ours" bench compare "$place/0.json" "$place/1.json" >&2 || true
	"$ours" bench compare "$place/0.json" "$place/1.json" --json >"$place/compared" || true
	for i in 0 1; do
		ratio=$(of "$place/compared" "r['steps'][$i]['ratio']")
		keep "$(of "$place/compared" "r['steps'][$i]['id']") on a device throttled to a third: the ratio's error, %" "$(beyond "$ratio" 0.333333)" "<=" 5 \
			"ratio $(rounded 4 "$ratio"), $(of "$place/compared" "r['steps'][$i]['verdict']")"
	done
fi

# by_hand JOB DIRECTORY [GROUP] runs a job file as anybody would, on files laid out like ours, and prints its IOPS.
by_hand() {
	(cd "$2" && ${3:+within} ${3:-} fio --output-format=json - <"$1" >"$place/by_hand") || die "fio by hand failed"
	of "$place/by_hand" "sum(j['read']['iops'] + j['write']['iops'] for j in r['jobs'])"
}

if wanted overhead; then
	echo "==> bench storage: beside fio by hand" >&2
	quiet_from
	compare_by_hand() { # NAME DIRECTORY [GROUP]
		local dir=$2 group=${3:-} hand=$2/hand
		mkdir -p "$hand"
		fio --name=layout --filename="$hand/data" --size=128M --rw=write --bs=1M --direct=1 --refill_buffers --fallocate=none --output=/dev/null
		for ((i = 0; i < rounds; i++)); do
			${group:+within} $group "$ours" bench run "$dir" --size 128MiB --runtime 3s --min-runs 1 --max-runs 1 --steps RND16K-R-Q8T1 --json >"$place/ours" 2>/dev/null
			of "$place/ours" "r['steps'][0]['iops']" >>"$place/$1.ours"
			of "$place/ours" "r['steps'][0]['job']" >"$place/job"
			by_hand "$place/job" "$hand" $group >>"$place/$1.hand"
		done
		rm -r "$hand"
		a=$(median <"$place/$1.ours") b=$(median <"$place/$1.hand")
	}
	compare_by_hand free "$place"
	free="not throttled: $(rounded 0 "$a") and $(rounded 0 "$b") IOPS"
	if [[ $can_throttle ]]; then
		compare_by_hand held "$place/mnt0" 0
		keep "our IOPS against fio by hand with the same job, %" "$(beyond "$a" "$b")" "<=" 3 "medians of $rounds rounds in turn, device held to 3,000 IOPS: $(rounded 1 "$a") and $(rounded 1 "$b"); $free"
	else
		echo "$free" >&2
	fi
fi

if wanted itself; then
	echo "==> bench storage: one disk against itself, $results results" >&2
	quiet_from
	for ((i = 0; i < results; i++)); do
		"$ours" bench run "$place" --size 256MiB --runtime 1s --max-runs 4 --steps RND16K-R-Q1T1,LOG4K-FDS-Q1T1,RND16K-W-Q8T4 --save "$place/itself$i.json" >/dev/null 2>&1
	done
	for ((i = 0; i < results; i++)); do
		for ((k = i + 1; k < results; k++)); do
			"$ours" bench compare "$place/itself$i.json" "$place/itself$k.json" --json >"$place/pair" || true
			of "$place/pair" "'\n'.join(v for s in r['steps'] for v in (s['verdict'], s['p99']['verdict']))" >>"$place/verdicts"
		done
	done
	wrong=$(grep -cE 'better|worse' "$place/verdicts" || true)
	all=$(wc -l <"$place/verdicts")
	keep "a disk found different from itself, % of verdicts" "$(awk -v a="$wrong" -v b="$all" 'BEGIN { printf "%.1f", 100 * a / b }')" "<=" 5 \
		"$wrong of $all, IOPS and p99 of three steps; $(sort "$place/verdicts" | uniq -c | awk '{ printf "%s%s %s", sep, $1, $2; sep = ", " }')"
fi
[[ -z $missed ]] || die "missed:${missed#;}"
