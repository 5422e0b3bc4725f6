#!/usr/bin/env bash
# Makes the servers that tests run beside the machine's own MariaDB: MariaDB 11.8 and MySQL 9.7, each unpacked from Debian's
# unstable suite into a root of its own outside the repository. Nothing is installed on this machine but debootstrap, no server
# is started, and nothing in the roots runs but the servers that tests start.
#
#   scripts/flavors.sh          makes what is missing (about a minute and 900 MB)
#   scripts/flavors.sh --anew   makes both again, from the mirror as it is today
#
# They live in $STOWAGE_FLAVORS, or in /var/cache/stowage-flavors: for each a directory with
#
#   root/   the Debian root, as debootstrap left it
#   bin/    the servers' programs, to be run from here as they are: each starts its namesake in root/ with root's own libraries,
#           so that a server of another Debian runs beside this one's, without chroot, mounts or a container
#   version what the server says it is; written last, so a directory with it is complete
#
# Put bin/ in front of the PATH and every part of Stowage uses that server: PATH=/var/cache/stowage-flavors/mariadb-11.8/bin:$PATH make demo
set -euo pipefail

cache=${STOWAGE_FLAVORS:-/var/cache/stowage-flavors}
say() { echo "==> $*" >&2; }
die() { echo "flavors: $1" >&2; shift; for line in "$@"; do echo "  -> $line" >&2; done; exit 1; }
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

anew=
case ${1:-} in
"") ;;
--anew) anew=yes ;;
*) die "unknown argument $1" "usage: scripts/flavors.sh [--anew]" ;;
esac

# mirror is the one that apt fetches this machine's own packages from.
mirror() {
	local found
	found=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian/?$' | head -n 1)
	echo "${found:-http://deb.debian.org/debian}"
}

# wrapper ROOT FILE PROGRAM [OPTION...]: a program of the root, run with the root's own loader and libraries. Options of ours go last: a
# server wants --defaults-file first.
wrapper() {
	local root=$1 file=$2 program=$3
	shift 3
	printf '#!/bin/sh\n# Made by Stowage'"'"'s scripts/flavors.sh.\nexec %s --library-path %s %s "$@" %s\n' \
		"$root/usr/lib64/ld-linux-x86-64.so.2" "$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/mysql/private" "$root/$program" "$*" >"$file"
	chmod 755 "$file"
}

# mariadb_bin DIR: the install script looks for programs below its basedir, so base/ has wrappers in the places it knows.
mariadb_bin() {
	local dir=$1 root=$1/root share=$1/root/usr/share
	mkdir -p "$dir/bin" "$dir/base/bin" "$dir/base/sbin"
	ln -sfn "$share" "$dir/base/share"
	local at=("--basedir=$dir/base" "--plugin-dir=$root/usr/lib/mysql/plugin" "--lc-messages-dir=$share/mysql" "--character-sets-dir=$share/mysql/charsets")
	[[ -d $share/mysql ]] || at=("--basedir=$dir/base" "--plugin-dir=$root/usr/lib/mysql/plugin" "--lc-messages-dir=$share/mariadb" "--character-sets-dir=$share/mariadb/charsets")
	wrapper "$root" "$dir/bin/mariadbd" usr/sbin/mariadbd "${at[@]}"
	cp "$dir/bin/mariadbd" "$dir/base/sbin/mariadbd"
	local program
	for program in mariadb-backup mbstream mariadb; do
		wrapper "$root" "$dir/bin/$program" "usr/bin/$program"
	done
	for program in my_print_defaults resolveip; do
		wrapper "$root" "$dir/base/bin/$program" "usr/bin/$program"
	done
	printf '#!/bin/sh\n# Made by Stowage'"'"'s scripts/flavors.sh.\nexec /bin/sh %s "$@" --basedir=%s\n' "$root/usr/bin/mariadb-install-db" "$dir/base" >"$dir/bin/mariadb-install-db"
	chmod 755 "$dir/bin/mariadb-install-db"
}

mysql_bin() {
	local dir=$1 root=$1/root share=$1/root/usr/share/mysql
	mkdir -p "$dir/bin"
	wrapper "$root" "$dir/bin/mysqld" usr/sbin/mysqld "--basedir=$root/usr" "--plugin-dir=$root/usr/lib/mysql/plugin" \
		"--lc-messages-dir=$share" "--character-sets-dir=$share/charsets"
}

# make NAME SERVER PACKAGES: debootstrap as root into a directory beside, renamed when it is whole.
make_flavor() {
	local name=$1 server=$2 packages=$3 dir=$cache/$1
	[[ ! $anew ]] || rm -rf "$dir"
	[[ ! -s $dir/version ]] || return 0
	if [[ ! -d $dir/root ]]; then
		((EUID == 0)) || die "making $dir needs root" "run as root: $(readlink -f "$0")"
		command -v debootstrap >/dev/null || { say "installing debootstrap from Debian"; apt-get -qq update && apt-get -qq install -y --no-install-recommends debootstrap >/dev/null; }
		say "unpacking $packages of Debian unstable into $dir (about a minute)"
		mkdir -p "$dir"
		rm -rf "$dir/root.new"
		if ! debootstrap --variant=minbase --include="$packages" sid "$dir/root.new" "$(mirror)" >"$dir/log" 2>&1; then
			tail -n 20 "$dir/log" >&2
			die "debootstrap failed; the whole log is $dir/log" "is the mirror to be reached? run this again"
		fi
		mv "$dir/root.new" "$dir/root"
	fi
	"${server}_bin" "$dir"
	# Debian's unstable suite moves on: what the tests say they ran on is what the server itself says.
	local version
	version=$("$dir/bin/${server}d" --no-defaults --version 2>/dev/null) || die "the server in $dir does not start" "scripts/flavors.sh --anew"
	[[ $version == *"Ver ${name##*-}."* ]] ||
		die "Debian unstable has moved on: $dir holds $version" "the tests want the line ${name##*-}; a newer one needs a look at internal/servers"
	echo "$version" >"$dir/version"
	say "$name: $version"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
make_flavor mariadb-11.8 mariadb mariadb-server-core,mariadb-backup,mariadb-client-core
make_flavor mysql-9.7 mysql mysql-server-core
