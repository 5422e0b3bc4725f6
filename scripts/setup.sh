#!/usr/bin/env bash
# Installs what Stowage needs on a Debian machine, and only what is missing.
#
#   scripts/setup.sh         MariaDB server and mariadb-backup, restic and zstd (backups), for the demo
#   scripts/setup.sh test    besides, for tests: an SSH server (backups by SFTP), Chromium (the report), HAProxy and etcd (routing), Prometheus (facts), spin and gcc (the models), tcpdump, ip, fio, mkfs.xfs, mkfs.btrfs, pymysql (the example client)
#   scripts/setup.sh bench   besides, for measuring: fio, and the peers that Stowage is measured beside; MyRocks, unpacked and not installed
#
# Safe to run again: with everything there it looks and returns. It never starts, stops or configures a database server.
# Debian starts mariadb.service when mariadb-server is installed, and so with HAProxy and etcd; here that is prevented with a policy-rc.d that says
# no to everything for the time of the installation. One that is there already is somebody's decision and stays as it is.
set -euo pipefail

say() { echo "==> $*" >&2; }
die() { echo "setup: $1" >&2; shift; for line in "$@"; do echo "  -> $line" >&2; done; exit 1; }

# Servers live where an ordinary account does not look.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

has() { command -v "$1" >/dev/null 2>&1; }

# missing prints the packages whose programs are not there.
missing() {
	{ has mariadbd || has mysqld; } && has mariadb-install-db || echo mariadb-server
	has mariadb-backup || echo mariadb-backup
	has restic || echo restic # backups into repositories
	has zstd || echo zstd # and into directories
	if [[ $1 == test ]]; then
		has chromium || has chromium-browser || has google-chrome || echo chromium
		has haproxy || echo haproxy
		has etcd || echo etcd-server
		has spin || echo spin
		has tcpdump || echo tcpdump # captures, compared with what it prints
		has fio || echo fio # stowage bench runs it
		has mkfs.xfs || echo xfsprogs # and makes these
		has mkfs.btrfs || echo btrfs-progs
		has ip || echo iproute2 # network namespaces
		has prometheus || echo prometheus # a source of facts
		/usr/bin/python3 -c 'import pymysql' 2>/dev/null || echo python3-pymysql # the client of examples/routing-client
		has sshd || echo openssh-server # repositories by SFTP
		has ssh || echo openssh-client
		has gcc && [[ -e /usr/include/stdio.h ]] || printf "gcc\nlibc6-dev\n"
	fi
	if [[ $1 == bench ]]; then
		has sysbench || echo sysbench
		has perf || echo linux-perf # bench engine --why
		has pt-query-digest || echo percona-toolkit
		has mydumper && has myloader || echo mydumper
		has tcpdump || echo tcpdump
		has fio || echo fio
		/usr/bin/python3 -c 'import numpy' 2>/dev/null || echo python3-numpy
	fi
}

policy=/usr/sbin/policy-rc.d
mark="made by Stowage's scripts/setup.sh for the time of an installation; safe to remove"

# left_over: an installation of ours was killed before it could take its policy away.
left_over() { grep -qsF "$mark" "$policy"; }

forbid_starting() {
	if [[ -e $policy ]] && ! left_over; then
		outcome="the policy-rc.d of this machine decided whether a server was started"
		return
	fi
	trap 'rm -f "$policy"' EXIT
	trap 'exit 130' INT TERM HUP
	printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy"
	chmod 755 "$policy"
}

# install runs as root.
install() {
	local what=$1 fresh= outcome="no server was started"
	exec 9>/run/stowage-setup.lock
	flock 9 # two targets of make may come here at once
	! left_over || rm -f "$policy"
	mapfile -t packages < <(missing "$what")
	((${#packages[@]})) || return 0
	if [[ " ${packages[*]} " == *" mariadb-server "* ]]; then
		fresh=yes
		[[ ! -d /var/lib/mysql/mysql ]] || die "/var/lib/mysql holds the data of a server, and mariadbd is not installed" \
			"the package mariadb-server might convert or move it: install mariadb-server yourself, then run this again"
	fi
	forbid_starting
	say "installing ${packages[*]} from Debian (a minute or two)"
	export DEBIAN_FRONTEND=noninteractive
	local apt=(apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300) log
	log=$(mktemp)
	# --no-remove: a MySQL that is installed conflicts with MariaDB, and is not ours to remove.
	if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends --no-remove "${packages[@]}"; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		die "installing ${packages[*]} failed; the whole log is $log" "correct the cause above and run this again"
	fi
	rm -f "$log"
	if [[ $fresh ]]; then
		# Nor shall it start at the next boot: Stowage starts instances of its own.
		update-rc.d mariadb disable >/dev/null 2>&1 || true
	fi
	for service in haproxy etcd prometheus ssh; do # nor shall these: the tests start their own
		[[ " ${packages[*]} " != *" ${service/ssh/openssh-server}"* ]] || update-rc.d "$service" disable >/dev/null 2>&1 || true
	done
	say "installed ${packages[*]}; $outcome"
}

# rocks puts the plugin of MyRocks where `stowage bench engine` looks for it. It is unpacked and not installed: its package drops an option file
# that loads it into every server of this machine. Libraries that are missing here lie beside it. What fails is said, and fails nothing.
rocks() {
	local cache=${STOWAGE_PLUGINS:-/var/cache/stowage-plugins} version work
	has apt-get && has dpkg-deb || return 0
	version=$(dpkg-query -W -f '${Version}' mariadb-server-core 2>/dev/null || dpkg-query -W -f '${Version}' mariadb-server 2>/dev/null) || return 0
	[[ ! -e $cache/ha_rocksdb.so || $(cat "$cache/version" 2>/dev/null) != "$version" ]] || return 0
	mkdir -p "$cache" 2>/dev/null && [[ -w $cache ]] || { say "MyRocks: $cache cannot be written; bench engine will do without (name another with STOWAGE_PLUGINS)"; return 0; }
	say "unpacking MyRocks $version into $cache"
	work=$(mktemp -d)
	if (cd "$work" && chmod 755 . && apt-get -qq download "mariadb-plugin-rocksdb=$version" libsnappy1v5 && for deb in *.deb; do dpkg-deb -x "$deb" root; done) >"$work/log" 2>&1; then
		find "$work/root" -name 'libsnappy.so*' -exec cp -a {} "$cache/" \;
		find "$work/root" -name ha_rocksdb.so -exec cp {} "$cache/ha_rocksdb.so" \;
		echo "$version" >"$cache/version"
	else
		say "MyRocks: not available: $(tail -n 1 "$work/log"); bench engine will do without"
	fi
	rm -rf "$work"
}

main() {
	local what=${1:-demo}
	case $what in
	demo | test | bench) ;;
	--as-root)
		install "$2"
		[[ $2 != bench ]] || rocks
		return
		;;
	*) die "unknown argument $what" "usage: scripts/setup.sh [test|bench]" ;;
	esac
	"$(dirname "$(readlink -f "$0")")/need-go.sh" || exit 1
	mapfile -t packages < <(missing "$what")
	((${#packages[@]})) || left_over || return 0
	has apt-get || die "missing: ${packages[*]}, and this is not Debian" \
		"install MariaDB 10.11 or newer with mariadbd, mariadb-install-db and mariadb-backup, by your system's means"
	if ((EUID == 0)); then
		install "$what"
	elif has sudo && { sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; }; then
		sudo -- bash "$(readlink -f "$0")" --as-root "$what"
	else
		die "missing: ${packages[*]}; installing needs root, and sudo is not there or does not let us" \
			"run as root: $(readlink -f "$0") $what"
	fi
}

main "$@"
[[ ${1:-} != bench ]] || rocks # behind the server it belongs to
