package backup

import (
	"strings"
	"testing"

	"stowage/backup/catalogue"
	"stowage/host"
)

// A restored instance on the host of the one that was backed up must not write into its files, read what nobody has checked, or be taken for it.
func TestRestoredInstanceKeepsToItsOwnPlace(t *testing.T) {
	i := host.Instance{Name: "a-restored-1", Address: "10.0.0.5", Port: 3399, Datadir: "/srv/db/a-restored-1/data", Config: "/srv/db/a-restored-1/my.cnf"}
	model := `# ours
[mariadbd]
datadir = /var/lib/mysql
log-bin = /var/log/mysql/mariadb-bin.log
log_bin_index=/var/log/mysql/mariadb-bin.index
relay-log = /var/log/mysql/relay
loose_relay_log_index = /var/log/mysql/relay.index
innodb_data_home_dir = /var/lib/innodb
innodb_data_file_path = /disk1/ibdata1:12M;/disk2/more/ibdata2:10M:autoextend
innodb_buffer_pool_filename = /var/lib/innodb/pool
loose_server_audit_file_path = /var/log/mysql/audit.log
rocksdb_datadir = /var/lib/rocks
innodb_log_group_home_dir = /var/lib/redo
innodb-undo-directory = /var/lib/undo
general_log_file = /var/log/mysql/all.log
slow_query_log_file = /var/log/mysql/slow.log
init-file = /etc/mysql/start.sql
aria-log-dir-path = /var/lib/aria
socket = /run/mysqld/mysqld.sock
pid-file = /run/mysqld/mysqld.pid
tmpdir = /var/tmp/mysql
log_error = /var/log/mysql/error.log
innodb_tmpdir = /var/tmp/innodb
slave_load_tmpdir = /var/tmp/load
server-id = 7
event_scheduler = ON
read_only = OFF
innodb_page_size = 8k
plugin_dir = /usr/lib/mysql/plugin
`
	text := string(restoreOrder{Chain: []catalogue.Backup{{Options: model}}, Instance: i, ServerID: 4711}.options())
	for line := range strings.Lines(text) {
		_, value, is := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		if is && strings.HasPrefix(value, "/") && !strings.HasPrefix(value, i.Dir()+"/") && value != "/usr/lib/mysql/plugin" {
			t.Errorf("it keeps %s", strings.TrimSpace(line))
		}
	}
	for name, want := range map[string]string{"server_id": "4711", "port": "3399", "read_only": "ON", "event_scheduler": "OFF", "skip_slave_start": "ON", "innodb_page_size": "8k", "log_bin": "mariadb-bin", "innodb_data_file_path": "ibdata1:12M;ibdata2:10M:autoextend"} {
		if got, _ := host.Option(text, host.ServerGroup(text), name); got != want {
			t.Errorf("%s is %q, want %q\n%s", name, got, want, text)
		}
	}
}

// An option file may have more than one group that the server reads: what is left out of one, or changed there, must not come from another.
func TestRestoredInstanceReadsOneGroup(t *testing.T) {
	i := host.Instance{Name: "a-restored-1", Address: "10.0.0.5", Port: 3399, Datadir: "/srv/db/a-restored-1/data", Config: "/srv/db/a-restored-1/my.cnf"}
	model := "[client]\nport = 1\n[mysqld]\ndatadir = /var/lib/mysql\nlog_bin\n[mariadb]\ninnodb_log_group_home_dir = /var/lib/redo\nserver_id = 7\n" +
		"[mariadb-10.11]\nevent_scheduler = ON\nread_only = OFF\ninnodb_page_size = 8k\n[mariadb-10.6]\ninnodb_undo_directory = /nowhere\ninnodb_page_size = 4k\n"
	text := string(restoreOrder{Chain: []catalogue.Backup{{Options: model, Instance: "a", Version: "10.11.19-MariaDB"}}, Instance: i, ServerID: 4711}.options())
	groups := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			groups++
		}
	}
	for name, want := range map[string]string{"innodb_log_group_home_dir": "", "innodb_undo_directory": "", "server_id": "4711", "event_scheduler": "OFF", "read_only": "ON", "innodb_page_size": "8k", "port": "3399"} {
		if got, _ := host.Option(text, "mysqld", name); got != want || groups != 1 {
			t.Errorf("%s is %q in %d groups, want %q\n%s", name, got, groups, want, text)
		}
	}
}

// By hand, too: backup-my.cnf has the source's innodb_undo_directory, whose files the source may still have open.
func TestServerByHandKeepsToItsOwnPlace(t *testing.T) {
	text := howToRestore(catalogue.Backup{ID: "a/1-full", Instance: "a", Kind: catalogue.Full}, nil)
	if !strings.Contains(text, " --defaults-file=/srv/restored/backup-my.cnf ") || !strings.Contains(text, " --innodb-undo-directory=/srv/restored ") {
		t.Error(text)
	}
}
