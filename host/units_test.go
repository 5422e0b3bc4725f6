package host

import "testing"

func TestServiceIn(t *testing.T) {
	for _, c := range []struct{ what, cgroup, want string }{
		{"version 2", "0::/system.slice/mariadb.service\n", "mariadb.service"},
		{"a template's instance", "0::/system.slice/system-mariadb.slice/mariadb@db17a.service\n", "mariadb@db17a.service"},
		{"a group below the unit's", "0::/system.slice/mysql.service/worker\n", "mysql.service"},
		{"both versions", "12:blkio:/\n1:name=systemd:/system.slice/mariadb.service\n0::/\n", "mariadb.service"},
		{"within a container", "1:name=systemd:/st1a-old1/system.slice/stowage-agent.service\n", "stowage-agent.service"},
		{"a session", "0::/user.slice/user-0.slice/session-1.scope\n", ""},
		{"somebody's own units", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/db.service\n", ""},
		{"no systemd", "0::/\n", ""},
		{"nothing", "", ""},
	} {
		if got := serviceIn(c.cgroup); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
