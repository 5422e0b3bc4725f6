#!/usr/bin/env bash
# Measures backups beside what a person would type, in turns, and what clients feel of them. Called by scripts/bench.sh.
#
#   BACKUP_MB=1000   megabytes of rows
#   ROUNDS=3         how often each way; medians count
#   PARTS="..."      some of: copy dump replay clients; all without it
#   KEEP_ROWS=no     writes nothing into docs/measuring/benchmarks.md
#
# Fails when a goal is missed, a query failed or what was kept is not the same; the rows are written all the same.
source "$(dirname "$0")/common.sh"
source scripts/farms.sh # servers in memory: the disk is the vault's
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

export BACKUP_MB=${BACKUP_MB:-1000} ROUNDS=${ROUNDS:-3}
for n in "$BACKUP_MB" "$ROUNDS"; do [[ $n =~ ^[1-9][0-9]*$ ]] || die "BACKUP_MB and ROUNDS are numbers from 1; one is $n"; done
[[ -x bin/stowage-engine ]] || die "build first: make build"

failed=
# measure DIRECTORY TEST: its lines become rows.
measure() {
	go test -c -o "$work/backup.test" "./$1"
	quiet_from
	(cd "$1" && "$work/backup.test" -test.run "^$2\$" -test.v -test.timeout 2h) >"$work/out" 2>&1 || failed=1
	grep 'NOT TESTED' "$work/out" >&2 && failed=1
	grep -q '^FIGURE' "$work/out" || { tail -20 "$work/out" >&2; die "nothing was measured"; }
	while IFS=$'\t' read -r what value how; do
		echo "$what: $value; $how" >&2
		[[ ${KEEP_ROWS:-yes} == yes ]] || continue
		case $what in
		directory) figure backup "into a directory: Stowage / mariadb-backup, zstd by hand" "$value" ">=" 0.9 "$how" ;;
		lean) figure backup "into a directory: Stowage / mariadb-backup, zstd --check -1 -T2 by hand" "$value" ">=" 0 "$how" ;;
		restic) figure backup "into a repository: Stowage / mariadb-backup, restic by hand" "$value" ">=" 0.9 "$how" ;;
		dump) figure backup "logical, into a directory: Stowage / mydumper, zstd -1 by hand" "$value" ">=" 1 "$how" ;;
		replay) figure backup "replay of binary logs: Stowage / mariadb-binlog, mariadb by hand" "$value" ">=" 0 "$how" ;;
		clients) figure backup "clients' p99 during a backup / before" "$value" "<=" 1.25 "$how" ;;
		failed) figure backup "failed queries" "$value" "==" 0 "$how" ;;
		verb) figure backup "the whole of stowage backup run, MB/s" "$value" ">=" 0 "$how" ;;
		*) die "an unknown figure: $what" ;;
		esac >/dev/null
	done < <(sed -n 's/^FIGURE\t//p' "$work/out")
	[[ ! $failed ]] || grep -v FIGURE "$work/out" | tail -40 >&2
}

echo "==> bench backup: $BACKUP_MB MB, $ROUNDS rounds" >&2
! wanted copy || measure host TestBackupSpeed
! wanted dump || measure host TestDumpSpeed
! wanted replay || measure host TestReplaySpeed
if wanted clients; then
	go build -trimpath -tags livetest -o bin/stowage-live ./cmd/stowage || die "the program for tests does not build"
	export STOWAGE_LIVE=$PWD/bin/stowage-live
	measure e2e/long/backup TestClientsDuringABackup
fi
[[ ! $failed ]] || die "something failed, or was not tested"
[[ -z $missed ]] || die "missed:${missed#;}"
