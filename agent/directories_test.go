package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/host"
)

// An agent does nothing outside of what its host's list has, whoever asks: the list is a file of the host, and no call makes it longer.
func TestAnAgentTouchesWhatItsHostDoesNotList(t *testing.T) {
	ca := authority(t)
	added, err := ca.Directories("db1", []string{"/srv/db", "/var/lib/mysql", "/etc/mysql/my.cnf"})
	if err != nil || !added {
		t.Fatal(added, err)
	}
	id := hostIdentity(t, ca, "db1", false)
	at := func(datadir, config string) host.Instance {
		return host.Instance{Name: "x", Datadir: datadir, Config: config}
	}
	from := func(datadir, config string) host.Origin { return host.Origin{Instance: at(datadir, config)} }
	into := func(datadir, config string) host.Destination { return host.Destination{Instance: at(datadir, config)} }
	for _, c := range []struct {
		q    request
		fine bool
	}{
		{request{Call: callClaim, Instance: at("/srv/db/x/data", "/srv/db/x/my.cnf")}, true},
		{request{Call: callStart, Instance: at("/var/lib/mysql", "/etc/mysql/my.cnf")}, true},
		{request{Call: callStop, Instance: at("/var/lib/mysql", "/etc/mysql/my.cnf")}, true},
		{request{Call: callOffer, Origin: from("/srv/db/x/data", "/srv/db/x/my.cnf")}, true},
		{request{Call: callWriteFile, Path: "/srv/db/x/my.cnf"}, true},
		{request{Call: callWriteFile, Path: "/etc/mysql/my.cnf"}, true},
		{request{Call: callReadFile, Path: "/etc/mysql/mariadb.conf.d/50-server.cnf"}, true},
		{request{Call: callFreeBytes, Path: "/srv"}, true},
		{request{Call: callClaim, Instance: at("/srv/other/x/data", "/srv/other/x/my.cnf")}, false},
		{request{Call: callWipe, Instance: at("/home/backups/x/data", "/home/backups/x/my.cnf")}, false},
		{request{Call: callRemove, Instance: at("/srv/dbx/x/data", "/srv/dbx/x/my.cnf")}, false},
		{request{Call: callFetch, Target: into("/opt/x/data", "/opt/x/my.cnf")}, false},
		{request{Call: callStart, Instance: at("/srv/db/x/data", "/home/me/evil.cnf")}, false},
		{request{Call: callRunning, Instance: at("/opt/x/data", "/opt/x/my.cnf")}, false},
		{request{Call: callOffer, Origin: from("/home/x/data", "/home/x/my.cnf")}, false},
		{request{Call: callWriteFile, Path: "/etc/mysql/conf.d/evil.cnf"}, false},
		{request{Call: callWriteFile, Path: "/home/me/.profile"}, false},
		{request{Call: callReadFile, Path: "/home/me/.ssh/id_rsa"}, false},
	} {
		if err := mayTouch(c.q, directoriesOf(id)); (err == nil) != c.fine || err != nil && (!errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "") {
			t.Errorf("%s %s%s: %v", c.q.Call, c.q.Instance.Datadir, c.q.Path, err)
		}
	}
	for what, harm := range map[string]func(path string) error{
		"a line that is not a path": func(p string) error { return os.WriteFile(p, []byte("/srv/db\nsrv\n"), 0o600) },
		"everything":                func(p string) error { return os.WriteFile(p, []byte("/\n"), 0o600) },
		"others may write": func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("/srv/db\n"), 0o600), os.Chmod(p, 0o666))
		},
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		if err := errors.Join(os.RemoveAll(string(directoriesOf(id))), harm(string(directoriesOf(id)))); err != nil {
			t.Fatal(err)
		}
		if err := mayTouch(request{Call: callWriteFile, Path: "/srv/db/x/my.cnf"}, directoriesOf(id)); !errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What a person has added on the list stays, and what is there is not written again.
func TestListOfDirectoriesOnlyGrows(t *testing.T) {
	ca := authority(t)
	path := filepath.Join(ca.hostDir("db1"), directoriesFile)
	for n, x := range []struct {
		all  []string
		want string
		new  bool
	}{
		{[]string{"/srv/db"}, "/srv/db", true},
		{[]string{"/srv/db", "/srv/db/p1"}, "/srv/db", false},
		{[]string{"/var/lib/mysql/"}, "/srv/db /var/lib/mysql", true},
		{nil, "/srv/db /var/lib/mysql /mnt/mine", false},
	} {
		if n == 3 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.WriteString("\n/mnt/mine\n")
			f.Close()
		}
		if added, err := ca.Directories("db1", x.all); err != nil || added != x.new {
			t.Errorf("%v: %v, %v", x.all, added, err)
		}
		if list, given, err := directories(path).read(); err != nil || !given || strings.Join(list, " ") != x.want {
			t.Errorf("%v: %q, %v, %v; want %s", x.all, list, given, err, x.want)
		}
	}
}
