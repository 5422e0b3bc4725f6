package host

import (
	"encoding/json"
	"os/user"
	"slices"
	"strconv"
	"testing"
)

// A note of before groups were noted gives a server those of its account; one
// that says there are none gives it none.
func TestNoteWithoutGroups(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for note, want := range map[string][]uint32{`{}`: groupsOf(me), `{"groups":null}`: groupsOf(me), `{"groups":[]}`: {}, `{"groups":[7,8]}`: {7, 8}} {
		uid, _ := strconv.ParseUint(me.Uid, 10, 32)
		how := asStarted{UID: uint32(uid)}
		if err := json.Unmarshal([]byte(note), &how); err != nil {
			t.Fatal(err)
		}
		if got := how.credential().Groups; !slices.Equal(got, want) || len(groupsOf(me)) == 0 {
			t.Errorf("%s: groups %v, want %v", note, got, want)
		}
	}
}

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
