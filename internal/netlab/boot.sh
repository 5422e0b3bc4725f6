# Boots systemd in a machine of a lab, as its process 1.
#
#   sh boot.sh NAME DIR SHARED...
#
# The machine sees this one's files, and keeps what it changes in DIR, also over its next boot; SHARED are directories that it has
# in common with the outside. It has processes, mounts, a host name, control groups, devices and a /run of its own; what
# belongs to the kernel, below /proc/sys and /sys, it can only read.
set -eu
name=$1 dir=$2
if [ "${3-}" != inside ]; then
	shift 2
	mkdir -p "$dir/changes" "$dir/work" "$dir/root"
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		group=/sys/fs/cgroup/$name
	else
		mkdir -p "$dir/groups"
		mount -t cgroup -o none,name=systemd cgroup "$dir/groups"
		group=$dir/groups/$name
	fi
	mkdir -p "$group"
	echo $$ >"$group/cgroup.procs"
	exec unshare --cgroup --pid --uts --ipc --fork --kill-child -- /bin/sh "$0" "$name" "$dir" inside "$@"
fi
shift 3
root=$dir/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/changes,workdir=$dir/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,ro,bind "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
for device in null zero full random urandom tty; do
	cp -a "/dev/$device" "$root/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
	mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
	mkdir "$root/sys/fs/cgroup/systemd"
	mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
for shared in "$@"; do
	mkdir -p "$root$shared"
	mount --bind "$shared" "$root$shared"
done
hostname "$name"

# A new machine: no unit of this one's is wanted but what systemd itself needs, and what the test puts there.
units=$root/etc/systemd/system
if [ ! -e "$dir/booted" ]; then
	rm -rf "$root/etc/systemd/system" "$root/etc/fstab" "$root/var/log/journal" "$root/etc/init.d" "$root"/etc/rc*.d
	mkdir -p "$units"
	rm -f "$root/etc/machine-id"
	: >"$root/etc/machine-id"
	ln -s /lib/systemd/system/multi-user.target "$units/default.target"
	for unit in tmp.mount getty.target systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket \
		systemd-sysctl.service systemd-modules-load.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount dev-hugepages.mount dev-mqueue.mount \
		sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount sys-kernel-config.mount systemd-journald-audit.socket \
		systemd-remount-fs.service systemd-timesyncd.service systemd-random-seed.service mariadb.service mysql.service haproxy.service etcd.service ssh.service networking.service; do
		ln -s /dev/null "$units/$unit"
	done
	: >"$dir/booted"
fi
exec chroot "$root" /usr/bin/env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal --show-status=0
