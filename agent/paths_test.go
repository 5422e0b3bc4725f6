package agent

import (
	"errors"
	"testing"

	"stowage/farm"
	"stowage/host"
)

func TestAnAgentTouchesTheSystem(t *testing.T) {
	at := func(datadir, config string) host.Instance {
		return host.Instance{Name: "x", Datadir: datadir, Config: config}
	}
	into := func(datadir, config string) host.Destination { return host.Destination{Instance: at(datadir, config)} }
	for _, c := range []struct {
		q    request
		fine bool
	}{
		{request{Call: callClaim, Instance: at("/srv/db/x/data", "/srv/db/x/my.cnf")}, true},
		{request{Call: callWriteFile, Path: "/etc/mysql/mariadb.conf.d/50-server.cnf"}, true},
		{request{Call: callReadFile, Path: "/srv/db/x/my.cnf"}, true},
		{request{Call: callStart, Instance: at("/var/lib/mysql", "/etc/mysql/my.cnf")}, true},
		{request{Call: callClaim, Instance: at("/etc/x/data", "/etc/x/my.cnf")}, false},
		{request{Call: callWipe, Instance: at("/srv/db/../../etc", "/srv/db/my.cnf")}, false},
		{request{Call: callRemove, Instance: at("srv/x/data", "srv/x/my.cnf")}, false},
		{request{Call: callFetch, Target: into("/root/.ssh/data", "/root/.ssh/my.cnf")}, false},
		{request{Call: callFound, Instance: at("/srv/a\nb/data", "/srv/a\nb/my.cnf")}, false},
		{request{Call: callWriteFile, Path: "/etc/cron.d/x"}, false},
		{request{Call: callWriteFile, Path: "/etc/mysql/../cron.d/x.cnf"}, false},
		{request{Call: callReadFile, Path: "/etc/shadow"}, false},
		{request{Call: callOptions, Instance: at("/srv/x/data", "/etc/shadow")}, false},
		{request{Call: callOptions, Instance: at("/var/lib/mysql", "/etc/mysql/my.cnf")}, true},
		{request{Call: callReadFile, Path: "relative.cnf"}, false},
	} {
		if err := mayTouch(c.q, ""); (err == nil) != c.fine || err != nil && !errors.Is(err, farm.ErrRefused) {
			t.Errorf("%s %s%s: %v", c.q.Call, c.q.Instance.Datadir, c.q.Path, err)
		}
	}
}
