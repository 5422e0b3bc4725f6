package farm

import "testing"

func TestAPlanNamesDirectoriesOfTheSystem(t *testing.T) {
	for _, c := range []struct {
		dir, datadir, config string
		fine                 bool
	}{
		{"/srv/db", "/srv/db/x/data", "/srv/db/x/my.cnf", true},
		{"/srv/db", "/srv/db/x/data", "", true},
		{"hosts/db1", "hosts/db1/x/data", "hosts/db1/x/my.cnf", true},
		{"", "/usr/local/mysql/x/data", "/usr/local/mysql/x/my.cnf", true},
		{"", "/dev/shm/x/data", "/dev/shm/x/my.cnf", true},
		{"", "/var/lib/mysql/data", "/var/lib/mysql/my.cnf", true},
		{"/srv/db/", "/srv/db/x/data", "/srv/db/x/my.cnf", true},
		{"/srv/db", "/srv/other/x/data", "/srv/other/x/my.cnf", false},
		{"/srv/db", "/srv/db2/x/data", "/srv/db2/x/my.cnf", false},
		{"/srv/db", "/srv/db/data", "/srv/db/my.cnf", false},
		{"/srv/db", "/srv/db/../../etc/data", "/srv/db/../../etc/my.cnf", false},
		{"/srv/db", "/srv/db/x/data", "/etc/cron.d/x.cnf", false},
		{"/srv/db", "/srv/db/x/data", "/srv/db/x/run", false},
		{"/srv/db", "/srv/db/x/my.cnf", "/srv/db/x/my.cnf", false},
		{"", "/etc/x/data", "/etc/x/my.cnf", false},
		{"", "/", "/my.cnf", false},
		{"", "/data", "/my.cnf", false},
		{"", "/dev/shm", "/dev/my.cnf", false},
		{"", "../x/data", "../x/my.cnf", false},
		{"", "/srv/x\n[mysqld]/data", "/srv/x\n[mysqld]/my.cnf", false},
		{"", "/srv//x/data", "/srv//x/my.cnf", false},
		{"", "", "", false},
		{"", "data", "my.cnf", false},
	} {
		if err := CheckPlace(c.dir, c.datadir, c.config); (err == nil) != c.fine {
			t.Errorf("%q below %q: %v", c.datadir, c.dir, err)
		}
	}
}
