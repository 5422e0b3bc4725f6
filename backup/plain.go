package backup

import (
	"fmt"
	"path"
	"strings"

	"stowage/backup/catalogue"
)

// howToRestore is the text for whoever has the set and nothing else.
func (t *taking) howToRestore(b catalogue.Backup) string {
	if !b.IsPhysical() {
		return howToLoad(b, t.memory.Copied.Databases)
	}
	if isClone(b) {
		return howToStart(b)
	}
	return howToRestore(b, t.order.Chain)
}

// howToStart says how the files of a clone become a server again.
func howToStart(b catalogue.Backup) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s: %s backup of %s, %s/%s of farm %s, MySQL %s, as of %s.\n\n", b.ID, b.Kind, b.Instance, b.Pair, b.Side, b.Farm, b.Version, b.At.Format("2006-01-02 15:04:05 UTC"))
	t.WriteString("To make a server of it by hand, with zstd, tar and mysqld of that version or a later one that can start on its files, as root,\nfrom the directory that holds " + path.Dir(b.ID) + ":\n\n")
	fmt.Fprintf(&t, "  mkdir /srv/restored\n  zstd -dc %s/%s.zst | tar -x --warning=no-unknown-keyword -C /srv/restored\n  chown -R mysql:mysql /srv/restored\n", b.ID, partOf(b))
	t.WriteString("  mysqld --no-defaults --user=mysql --datadir=/srv/restored --socket=/srv/restored/sock --skip-networking --secure-file-priv=NULL --mysqlx=OFF --skip-replica-start --event-scheduler=OFF --gtid-mode=ON --enforce-gtid-consistency=ON\n\n")
	t.WriteString("Where options.cnf has innodb_data_file_path, innodb_page_size or lower_case_table_names, mysqld needs them, too.\n")
	if b.GTID != "" {
		fmt.Fprintf(&t, "Its data are at GTID position %s, which is %s:%d in the binary log of %s.\n", b.GTID, b.File, b.Offset, b.Instance)
		t.WriteString("Later changes: mysqlbinlog " + b.File + " and the files after it | mysql; the server leaves out what it has by its GTIDs.\n")
	}
	t.WriteString("options.cnf is what the server was started with. The sums of the files are in manifest.json.\n")
	return t.String()
}

// howToRestore says how a backup becomes a server again without Stowage: for whoever opens its directory in bad times.
func howToRestore(b catalogue.Backup, chain []string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s: %s backup of %s, %s/%s of farm %s, MariaDB %s, as of %s.\n\n", b.ID, b.Kind, b.Instance, b.Pair, b.Side, b.Farm, b.Version, b.At.Format("2006-01-02 15:04:05 UTC"))
	t.WriteString("To make a server of it by hand, with zstd, mbstream and mariadb-backup of the same version, as root,\nfrom the directory that holds " + path.Dir(b.ID) + ":\n\n")
	full := b.ID
	if len(chain) > 0 {
		full = chain[0]
	}
	fmt.Fprintf(&t, "  mkdir /srv/restored\n  zstd -dc %s/base.xb.zst | mbstream -x -C /srv/restored\n  mariadb-backup --prepare --target-dir=/srv/restored\n", full)
	if b.Kind == catalogue.Incremental {
		for n, id := range append(chain[1:len(chain):len(chain)], b.ID) {
			fmt.Fprintf(&t, "  mkdir /srv/delta%d\n  zstd -dc %s/delta.xb.zst | mbstream -x -C /srv/delta%d\n  mariadb-backup --prepare --target-dir=/srv/restored --incremental-dir=/srv/delta%d\n", n+1, id, n+1, n+1)
		}
	}
	t.WriteString("  chown -R mysql:mysql /srv/restored\n  mariadbd --defaults-file=/srv/restored/backup-my.cnf --user=mysql --datadir=/srv/restored --innodb-undo-directory=/srv/restored --socket=/srv/restored/sock --skip-networking --skip-slave-start --event-scheduler=OFF\n\n")
	if b.GTID != "" {
		fmt.Fprintf(&t, "Its data is at GTID position %s, which is %s:%d in the binary log of %s.\n", b.GTID, b.File, b.Offset, b.Instance)
		t.WriteString("Later changes: mariadb-binlog --start-position=" + fmt.Sprint(b.Offset) + " " + b.File + " and the files after it | mariadb.\n")
	}
	t.WriteString("Where options.cnf has lower_case_table_names, mariadbd needs it, too: backup-my.cnf lacks it.\n")
	t.WriteString("A table with DATA DIRECTORY has a link file, TABLE.isl, with its path on the host of " + string(b.Instance) + ". On that host the table cannot be opened: restore on another one.\n")
	t.WriteString("options.cnf is what the server was started with. The sums of the files are in manifest.json.\n")
	return t.String()
}
