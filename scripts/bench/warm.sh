#!/usr/bin/env bash
# Measures what clients of a side feel in the first minute after it was restarted and has come back, over what they felt before it left: as
# `stowage side` brings it back, and the same without warming (its server is restarted once more right before its clients come). The data are
# more than four times the buffer pool, and each server has a disk that does READS (60) reads a second. Called by scripts/bench.sh.
#
# ROUNDS=n (3) of each, WARM_SECONDS=n (60). Needs root, mkfs.xfs, and the blkio controller of cgroup v1. Fails when warming misses its goal;
# a run whose cold half is not at least 1.5 says nothing, and counts as failed.
source "$(dirname "$0")/common.sh"

rounds=${ROUNDS:-3} reads=${READS:-60} seconds=${WARM_SECONDS:-60}
for n in "$rounds" "$reads" "$seconds"; do [[ $n =~ ^[1-9][0-9]*$ ]] || die "ROUNDS, READS and WARM_SECONDS are numbers from 1; one is $n"; done
[[ -x bin/stowage-engine ]] || die "build first: make build"
control=/sys/fs/cgroup/blkio
[[ -w $control/cgroup.procs ]] || die "$control is not there, or not ours: needs root and the blkio controller of cgroup v1"

place=$(mktemp -d /var/tmp/stowage-bench-warm.XXXXXX)
chmod 755 "$place"
device= groups=("$control/stowage-warm-$$-a" "$control/stowage-warm-$$-b") keepers=()
clear() {
	[[ ! ${keepers[*]} ]] || kill "${keepers[@]}" 2>/dev/null || true
	wait
	umount "$place/mnt" 2>/dev/null || true
	[[ ! $device ]] || losetup --detach "$device" 2>/dev/null || true
	rmdir "${groups[@]}" 2>/dev/null || true
	rm -rf "$place" "$work"
}
trap clear EXIT
trap 'exit 130' INT TERM

truncate -s 6G "$place/image"
mkfs.xfs -q "$place/image"
device=$(losetup --find --show --direct-io=on "$place/image")
mkdir "$place/mnt" "${groups[@]}"
mount "$device" "$place/mnt"
chmod 755 "$place/mnt"
for g in "${groups[@]}"; do
	# A systemd takes groups away that nobody is in.
	sh -c 'echo $$ >"$0/cgroup.procs" && exec sleep infinity' "$g" &
	keepers+=($!)
	echo "$(lsblk -dno MAJ:MIN "$device" | tr -d ' ') $reads" >"$g/blkio.throttle.read_iops_device"
done

echo "==> bench warm: $rounds restarts with warming and without, $reads reads a second" >&2
go test -c -o "$work/side.test" ./e2e/long/side
quiet_from
failed=
(cd e2e/long/side && sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "${groups[0]}" env FARMS="$place/mnt" ROUNDS="$rounds" STOWAGE_WARM_SECONDS="$seconds" \
	STOWAGE_WARM_GROUP="${groups[1]}/cgroup.procs" "$work/side.test" -test.run '^TestRestartedSideComesBackWarm$' -test.v -test.timeout 1h) >"$work/out" 2>&1 || failed=1
line=$(grep -o 'rounds=.*' "$work/out") || { cat "$work/out" >&2; die "the rounds did not come to their end"; }
grep -E 'round [0-9]+, cold|p95 of' "$work/out" >&2
get() { sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" <<<"$line"; }

what="median of $rounds, p95 of $seconds s over that of $seconds s before; 150 MB of data, pool of 32 MB, $reads reads a second"
if [[ ${KEEP_ROWS:-yes} == yes ]]; then
	figure warm "first minute after a restart, warmed" "$(get warm)" "<=" 1.10 "$what; the worst $(get warmmost)"
	figure warm "first minute after a restart, not warmed" "$(get cold)" ">=" 1.5 "$what; the least $(get coldleast)"
fi
echo "$line" >&2
[[ -z $failed ]] || { cat "$work/out" >&2; die "the farm was not whole"; }
[[ -z $missed ]] || die "missed:${missed#;}"
