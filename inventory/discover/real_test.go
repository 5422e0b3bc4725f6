package discover_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/inventory"
	"stowage/inventory/discover"
	"stowage/mysql"
	"stowage/workspace"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(name farm.InstanceName, address string) *mysql.Server {
	return mysql.Open(name, address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
}

func ask(t *testing.T, follow bool, addresses ...string) discover.Found {
	t.Helper()
	servers, err := discover.Ask(t.Context(), discover.Question{Addresses: addresses, Follow: follow, Open: open})
	must(t, err)
	return discover.Derive(servers)
}

// pairs is who belongs to whom.
func pairs(f discover.Found) string {
	var out []string
	for _, p := range f.Pairs {
		line := string(p.Topology)
		for _, s := range p.Sides {
			line += fmt.Sprintf(" %s=%s", s.Side, s.Address)
		}
		for _, s := range p.Shards {
			line += " " + string(s.Name)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func missed(f discover.Found) string {
	var out []string
	for _, n := range f.NotUnderstood {
		out = append(out, n.Check+" "+n.Subject)
	}
	return strings.Join(out, "\n")
}

// TestDiscover: a ring, a primary with a replica and one alone become a
// farm.yaml that reads, and in which an inventory finds nothing.
func TestDiscover(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b", "--auto-increment-offset=2")
	p, alone := mariadbtest.Start(t, "p"), mariadbtest.Start(t, "alone")
	r := mariadbtest.Start(t, "r")
	mariadbtest.Ring(t, a, b)
	mariadbtest.Replicate(t, r, p)
	a.Exec(t, "CREATE DATABASE shard1", "CREATE TABLE shard1.t (id INT PRIMARY KEY)", "CREATE DATABASE _stow_x")
	p.Exec(t, "CREATE DATABASE orders", "CREATE DATABASE users")
	alone.Exec(t, "CREATE DATABASE shard2")
	mariadbtest.AwaitApplied(t, b, a)
	mariadbtest.AwaitApplied(t, r, p)
	want := fmt.Sprintf("active-active A=%s B=%s shard1\nprimary-replica A=%s B=%s orders users\nsingle A=%s shard2", a.Address, b.Address, p.Address, r.Address, alone.Address)

	found := ask(t, false, a.Address, b.Address, p.Address, r.Address, alone.Address)
	if pairs(found) != want || missed(found) != "" {
		t.Fatalf("found\n%s\n%s\nwant\n%s", pairs(found), missed(found), want)
	}
	if want := max(a.ServerID, b.ServerID, p.ServerID, r.ServerID, alone.ServerID) + 1; found.NextServerID != want {
		t.Errorf("next_server_id %d, want %d", found.NextServerID, want)
	}
	survey(t, found)

	t.Run("following leads to the others", func(t *testing.T) {
		found := ask(t, true, alone.Address, b.Address, p.Address)
		if pairs(found) != want || missed(found) != "" {
			t.Errorf("found\n%s\n%s\nwant\n%s", pairs(found), missed(found), want)
		}
		found = ask(t, true, r.Address)
		if pairs(found) != strings.Split(want, "\n")[1] || missed(found) != "" {
			t.Errorf("from a replica found\n%s\n%s", pairs(found), missed(found))
		}
	})
	t.Run("who was not told of is named", func(t *testing.T) {
		found := ask(t, false, b.Address, p.Address)
		if pairs(found) != fmt.Sprintf("single A=%s orders users", p.Address) || missed(found) != "topology "+b.Address+"\nreplicas "+p.Address {
			t.Errorf("found\n%s\n%s", pairs(found), missed(found))
		}
	})
	t.Run("a source by a name that only the replica can read", func(t *testing.T) {
		number := binary.BigEndian.Uint32(net.ParseIP(p.Host).To4()) // as inet_aton reads it, and Go does not
		r.Exec(t, "STOP SLAVE", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%d'", number), "START SLAVE")
		mariadbtest.AwaitApplied(t, r, p)
		found := ask(t, false, p.Address, r.Address)
		if pairs(found) != strings.Split(want, "\n")[1] || missed(found) != "" || !slices.ContainsFunc(found.Notes, func(n farm.Finding) bool { return n.Check == "address" }) {
			t.Errorf("found\n%s\n%s\nnotes %v", pairs(found), missed(found), found.Notes)
		}
		mariadbtest.Replicate(t, r, p)
	})
	t.Run("a chain", func(t *testing.T) {
		mariadbtest.Replicate(t, alone, r)
		defer alone.Exec(t, "STOP SLAVE", "RESET SLAVE ALL")
		found := ask(t, true, a.Address, p.Address)
		if pairs(found) != strings.Split(want, "\n")[0] || !strings.HasPrefix(missed(found), "topology ") {
			t.Errorf("found\n%s\n%s", pairs(found), missed(found))
		}
	})
	t.Run("a replica that does not say where it is", func(t *testing.T) {
		r.SetOptions("--report-host=")
		r.Restart(t)
		mariadbtest.Replicate(t, r, p)
		// It dials from another address of this machine than the one it listens on.
		found := ask(t, true, p.Address)
		if n := found.NotUnderstood; len(n) != 1 || n[0].Check != "replicas" || !strings.Contains(n[0].Text, fmt.Sprintf("server_id %d at 127.0.0.1:%d ", r.ServerID, r.Port)) {
			t.Errorf("not understood %v", n)
		}
		found = ask(t, true, p.Address, r.Address)
		if pairs(found) != strings.Split(want, "\n")[1] || missed(found) != "" {
			t.Errorf("told of both, found\n%s\n%s", pairs(found), missed(found))
		}
	})
	t.Run("an account that sees no replicas", func(t *testing.T) {
		// What docs/reference/privileges.md says an inventory needs, and no more.
		p.Exec(t, "CREATE USER narrow@'%' IDENTIFIED BY 'narrow-password'", "GRANT SELECT, BINLOG MONITOR, REPLICA MONITOR ON *.* TO narrow@'%'")
		as := func(name farm.InstanceName, address string) *mysql.Server {
			return mysql.Open(name, address, mysql.Account{User: "narrow", Password: "narrow-password"}, slog.New(slog.DiscardHandler))
		}
		for _, more := range []string{"", "PROCESS, REPLICATION MASTER ADMIN"} {
			if more != "" {
				p.Exec(t, "GRANT "+more+" ON *.* TO narrow@'%'")
			}
			servers, err := discover.Ask(t.Context(), discover.Question{Addresses: []string{p.Address}, Open: as})
			must(t, err)
			found := discover.Derive(servers)
			n := found.NotUnderstood
			if pairs(found) != fmt.Sprintf("single A=%s orders users", p.Address) || len(n) != 1 || n[0].Check != "replicas" || strings.Contains(n[0].Text, "cannot be read") != (more == "") {
				t.Errorf("with %q more, found\n%s\nnot understood %v", more, pairs(found), n)
			}
		}
	})
	t.Run("one that is down, and one that lets nobody in", func(t *testing.T) {
		r.Stop(t)
		alone.Exec(t, "DROP USER stowage@'%'")
		found := ask(t, true, r.Address, alone.Address, a.Address)
		if pairs(found) != strings.Split(want, "\n")[0] || len(found.NotUnderstood) != 2 {
			t.Fatalf("found\n%s\n%s", pairs(found), missed(found))
		}
		for _, n := range found.NotUnderstood {
			if n.Subject == alone.Address && (!strings.Contains(n.Text, "does not let us in: Error 1045 (28000): Access denied") || !strings.Contains(n.Remedy, "privileges.md")) ||
				n.Subject == r.Address && !strings.Contains(n.Text, "refused") {
				t.Errorf("%+v", n)
			}
			if strings.Contains(fmt.Sprint(n), mariadbtest.Stowage.Password()) {
				t.Errorf("tells a password: %+v", n)
			}
		}
	})
}

// TestSameIDs: in many farms every pair has server_ids 1 and 2.
func TestSameIDs(t *testing.T) {
	t.Parallel() // it mostly waits
	var told, want []string
	for range 2 {
		p, r := mariadbtest.Start(t, "p", "--server-id=1"), mariadbtest.Start(t, "r", "--server-id=2")
		mariadbtest.Replicate(t, r, p)
		told = append(told, p.Address, r.Address)
		want = append(want, fmt.Sprintf("primary-replica A=%s B=%s", p.Address, r.Address))
	}
	both := slices.Sorted(slices.Values(want))
	for _, test := range []struct{ told, want []string }{
		{told, both}, {told[:3], both}, {[]string{told[0], told[3]}, both}, {told[2:3], want[1:]},
	} {
		if found := ask(t, true, test.told...); pairs(found) != strings.Join(test.want, "\n") || missed(found) != "" {
			t.Errorf("told %v, found\n%s\n%s", test.told, pairs(found), missed(found))
		}
	}
}

// TestOneMachine: two servers, each told by an address of its own, are on one
// host when one address leads to both; and one that was told twice is one.
func TestOneMachine(t *testing.T) {
	t.Parallel() // it mostly waits
	x, y := mariadbtest.Start(t, "x"), mariadbtest.Start(t, "y")
	x.Exec(t, "CREATE DATABASE xs")
	y.Exec(t, "CREATE DATABASE ys")
	if found := ask(t, false, x.Address, y.Address); len(found.Hosts) != 2 || len(found.Notes) != 1 || found.Notes[0].Check != "hostname" {
		t.Errorf("apart, they are on %+v, notes %v", found.Hosts, found.Notes)
	}
	y.Stop(t)
	y.Port++
	y.Address = fmt.Sprintf("%s:%d", y.Host, y.Port)
	for _, i := range []*mariadbtest.Instance{x, y} {
		i.SetOptions(fmt.Sprintf("--bind-address=%s,%s", x.Host, y.Host))
		i.Restart(t)
	}
	found := ask(t, false, x.Address, y.Address)
	if len(found.Hosts) != 1 || len(found.Hosts[0].Instances) != 2 || len(found.Pairs) != 2 {
		t.Fatalf("hosts %+v, pairs %s", found.Hosts, pairs(found))
	}
	survey(t, found)
	twice := fmt.Sprintf("%s:%d", y.Host, x.Port)
	found = ask(t, true, x.Address, twice)
	if len(found.Servers) != 1 || len(found.Pairs) != 1 || len(found.NotUnderstood) != 0 {
		t.Errorf("told twice, it is %+v", found.Servers)
	}
}

// survey writes the draft and takes an ordinary inventory of it.
func survey(t *testing.T, found discover.Found) {
	t.Helper()
	dir := t.TempDir()
	fm, remarks := found.Farm("accounts.cnf")
	text, faults := workspace.DraftFarm("farm.yaml", fm, remarks)
	must(t, faults)
	path := filepath.Join(dir, "farm.yaml")
	must(t, workspace.CreateFarm(path, text))
	if err := workspace.CreateFarm(path, []byte("other")); err == nil {
		t.Error("a farm.yaml was written over")
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(text) {
		t.Errorf("it holds %s, %v", now, err)
	}
	ws, err := workspace.Open(dir)
	must(t, err)
	f, err := ws.Farm()
	must(t, err)
	inv, err := inventory.Survey(t.Context(), f, open, nil)
	must(t, err)
	// The databases of Stowage's own making are no shards, and an inventory says so.
	inv.Findings = slices.DeleteFunc(inv.Findings, func(n farm.Finding) bool { return strings.Contains(n.Text, "_stow_x") })
	if len(inv.Findings) > 0 {
		t.Errorf("an inventory of the draft finds %v\n%s", inv.Findings, text)
	}
}
