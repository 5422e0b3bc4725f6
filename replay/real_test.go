package replay

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/replay/effect"
	"stowage/route"
)

// TestSlowLogOfAServer replays the log of one server on a copy, whose own log
// is the judge: the same classes as often, each session in its order.
func TestSlowLogOfAServer(t *testing.T) {
	t.Parallel() // it mostly waits
	original, candidate := start(t, "original", logging...), start(t, "candidate", logging...)
	openLog(t, original)
	customers(t, original, 6, 20)
	recording := slowLog(t, original)
	// The answer is sent before the log is written.
	for end := time.Now().Add(20 * time.Second); strings.Count(contentOf(t, recording), "SELECT SLEEP(0);") < 6 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		recording = slowLog(t, original)
	}
	openLog(t, candidate)
	before := fmt.Sprint(checksums(t, candidate))
	is, _ := Doors(as(t, candidate, reads), nil, false)
	out, err := Run(t.Context(), Options{Inputs: []Input{recording}, Candidate: is, Speed: 20})
	if err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(checksums(t, candidate)); after != before {
		t.Errorf("the candidate was changed: %s, was %s", after, before)
	}
	want, wantOrder := classes(t, recording, isRead)
	got, gotOrder := classes(t, slowLog(t, candidate), isRead)
	if !maps.Equal(got, want) || len(want) != 5 {
		t.Errorf("sent\n%v\nrecorded\n%v", got, want)
	}
	sameSessions(t, gotOrder, wantOrder)
	if out.Sent.Read != 6*20*5 || out.Sessions.Recorded != 6 || out.Statements != 6*(20*11+2) {
		t.Errorf("%+v of %d in %+v", out.Sent, out.Statements, out.Sessions)
	}
	skipped := map[effect.Kind]uint64{}
	for _, s := range out.Skipped {
		skipped[s.Kind] += s.Count
	}
	if skipped[effect.Write] != 6*20+6 || skipped[effect.Function] != 6*20 {
		t.Errorf("skipped %+v", out.Skipped)
	}
	// Prices changed on the original only: some counts may differ, the rest not.
	if out.Compared.Equal < 6*20*3 || out.Errors.All != 6*20 || len(out.Errors.ByCode) != 1 || out.Errors.ByCode[0].Code != 1146 {
		t.Errorf("%+v, %+v", out.Compared, out.Errors)
	}
	if out.Recorded.Count != out.Replayed.Count || out.Recorded.Count != 6*(20*8+1) || out.Digest.Events() != out.Replayed.Count {
		t.Errorf("%+v %+v %d", out.Recorded, out.Replayed, out.Digest.Events())
	}
	var page bytes.Buffer
	if err := WriteText(&page, out, 5); err != nil || !strings.Contains(page.String(), "600 read") {
		t.Errorf("%v\n%s", err, page.String())
	}
}

// sameSessions: each session of one side is a session of the other.
func sameSessions(t *testing.T, got, want map[uint64][]string) {
	t.Helper()
	var a, b []string
	for _, x := range got {
		a = append(a, strings.Join(x, "\n"))
	}
	for _, x := range want {
		b = append(b, strings.Join(x, "\n"))
	}
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Errorf("sessions or their order differ: %d sent, %d recorded", len(a), len(b))
	}
}

// checksums of all tables, and where the sequence stands.
func checksums(t *testing.T, i *mariadbtest.Instance) []string {
	t.Helper()
	var out []string
	db, err := sql.Open("mysql", i.DSN(mariadbtest.Stowage, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"shop.orders", "stock.items", "shop.t"} {
		var name, sum string
		if err := db.QueryRow("CHECKSUM TABLE "+table).Scan(&name, &sum); err != nil {
			t.Fatal(err)
		}
		out = append(out, sum)
	}
	return append(out, i.Value(t, "SELECT next_not_cached_value FROM shop.s"), i.Value(t, "SELECT GROUP_CONCAT(TABLE_SCHEMA, '.', TABLE_NAME ORDER BY 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('shop', 'stock')"),
		i.Value(t, "SELECT @@GLOBAL.max_connections"))
}

// TestServerJudges asks a server about every statement of the table of
// judgements: what READ ONLY refuses is no read, and what is a read changes
// nothing even without that belt, by an account that may do everything.
func TestServerJudges(t *testing.T) {
	t.Parallel() // it mostly waits
	i := start(t, "judge", logging...)
	belted, _ := Doors(as(t, i, all), nil, false)
	free, _ := Doors(as(t, i, all), nil, true)
	before := fmt.Sprint(checksums(t, i))
	more := []string{"SELECT spoil()", "SELECT shop.spoil()", "SELECT COUNT(*) FROM orders", "SELECT * FROM orders WHERE id IN (SELECT id FROM stock.items)",
		"SELECT NEXTVAL(s)", "SELECT SETVAL(s, 1000)", "SELECT NEXT VALUE FOR s", "DELETE FROM orders", "SELECT id FROM orders LIMIT 1 FOR UPDATE",
		"INSERT INTO orders VALUES (1, 1, '', 0)", "TRUNCATE orders", "BEGIN NOT ATOMIC DELETE FROM orders; END", "ANALYZE DELETE FROM orders"}
	table, err := os.ReadFile("effect/testdata/judged.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var f []string // text, kind, and what is said
		if json.Unmarshal([]byte(line), &f) == nil && !strings.Contains(strings.ToLower(f[0]), "sleep") && f[1] != "server" {
			more = append(more, f[0])
		}
	}
	ran := 0
	for _, text := range more {
		j := effect.Judge([]byte(text), effect.Mode{})
		if len(j.Parts) > 0 || j.Params > 0 {
			continue
		}
		a := ask(t, belted, text)
		if a.Code == 1792 && (j.Kind == effect.Read || j.Kind == effect.Session) {
			t.Errorf("%q is a %s, and the server refuses it in READ ONLY", text, j.Kind)
		}
		if j.Kind > effect.Session {
			continue
		}
		if a := ask(t, free, text); a.Code == 0 {
			ran++
		}
		if after := fmt.Sprint(checksums(t, i)); after != before {
			t.Fatalf("%q is a %s, and changed %s to %s", text, j.Kind, before, after)
		}
	}
	if ran < 40 {
		t.Errorf("only %d reads ran", ran)
	}
}

// ask says one thing over a connection of its own.
func ask(t *testing.T, door Door, text string) traffic.Answer {
	t.Helper()
	c, err := door(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a, err := c.Query(ctx, text, false)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// TestAgainst finds one changed row, another order, another column, an error on
// one side, and does not cry about what may differ.
func TestAgainst(t *testing.T) {
	t.Parallel() // it mostly waits
	original, candidate := start(t, "original"), start(t, "candidate")
	candidate.Exec(t, "UPDATE shop.orders SET what = 'changed' WHERE id = 77", "ALTER TABLE stock.items ADD extra INT", "DROP FUNCTION shop.twice",
		"UPDATE shop.orders SET price = price + 1e-14 WHERE id = 3")
	say := []struct{ text, kind string }{
		{"SELECT id, what FROM orders WHERE id BETWEEN 70 AND 80", "values"},
		{"SELECT id, what FROM orders WHERE id BETWEEN 1 AND 60", ""},
		{"SELECT id FROM orders ORDER BY id LIMIT 10", ""},
		{"SELECT price FROM orders WHERE id = 3", ""},
		{"SELECT SUM(price) FROM orders", ""},
		{"SELECT * FROM stock.items WHERE id = 1", "columns"},
		{"SELECT twice(4)", "error"},
		{"SELECT COUNT(*) FROM orders WHERE what = 'changed'", "values"},
		{"SELECT id FROM orders WHERE what = 'changed'", "rows"},
		{"SELECT CAST('x' AS INT)", ""},
		{"SELECT UUID()", "chance"},
		{"SELECT @@hostname, @@port, @@server_id", "chance"},
		{"SELECT 1", ""},
	}
	var log strings.Builder
	for i, s := range say {
		log.WriteString(mariaEvent(noon.Add(time.Duration(i)*time.Second), 1, time.Millisecond, s.text))
	}
	is, was := Doors(as(t, candidate, all), as(t, original, all), false)
	out, err := Run(t.Context(), Options{Inputs: []Input{text("slow.log", log.String())}, Candidate: is, Original: was, Allow: Allowance{Functions: true}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, x := range out.Examples {
		found[x.Statement] = kindsOf(x.Differences)
	}
	chance, equal := 0, 0
	for _, s := range say {
		switch {
		case s.kind == "chance":
			chance++
			fallthrough
		case s.kind == "":
			if found[s.text] != "" {
				t.Errorf("%s: %s, want nothing", s.text, found[s.text])
			}
		case !strings.Contains(found[s.text], s.kind):
			t.Errorf("%s: %q, want %s", s.text, found[s.text], s.kind)
		}
		if s.kind == "" {
			equal++
		}
	}
	if out.Compared.Equal != uint64(equal) || out.Compared.Chance != uint64(chance) || out.Compared.Different != uint64(len(say)-equal-chance) || !out.HasFindings() {
		t.Errorf("%+v", out.Compared)
	}
	first := out.Examples[0].Differences[0]
	if first.Was != `(77, "thing 77")` || first.Is != `(77, "changed")` {
		t.Errorf("%+v", first)
	}
	// One order against another.
	a := traffic.Answer{Rows: 2, Sample: []string{"1", "2"}, IsWhole: true, Sum: traffic.RowSum{Bag: 5, Ordered: 1}}
	b := traffic.Answer{Rows: 2, Sample: []string{"2", "1"}, IsWhole: true, Sum: traffic.RowSum{Bag: 5, Ordered: 2}}
	if d := compareAnswers(&a, &b, true); len(d) != 1 || d[0].Kind != "order" {
		t.Errorf("%+v", d)
	}
	if d := compareAnswers(&a, &b, false); len(d) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestGuardOnServers: writes are refused wherever they could reach anybody, and
// applied where a person said so.
func TestGuardOnServers(t *testing.T) {
	t.Parallel()                                                                                                    // it mostly waits
	candidate, other := start(t, "candidate"), mariadbtest.Start(t, "other", "--log-bin-trust-function-creators=1") // it replays what start did
	s := as(t, candidate, all)
	table := &route.Table{FormatVersion: 1, Pairs: map[farm.PairName]*route.Pair{}}
	routing := func(context.Context) (*route.Table, error) { return table, nil }
	identify := func(ctx context.Context, address string) (traffic.Identity, error) {
		x := mysql.Open("x", address, all, slog.New(slog.DiscardHandler))
		defer x.Close()
		return traffic.IdentityOf(ctx, x)
	}
	guard := func(change func(*Guard)) *Guard {
		g := &Guard{Server: s, Name: "old copy", Table: routing, HasTable: true, Identify: identify}
		if change != nil {
			change(g)
		}
		return g
	}
	refuses := func(name string, g *Guard, want string) {
		t.Helper()
		err := g.Check(t.Context())
		if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), want) || farm.Hint(err) == "" {
			t.Errorf("%s: %v (%s), want %q", name, err, farm.Hint(err), want)
		}
	}
	refuses("without a mark", guard(nil), "not marked as a server to throw away")
	candidate.Exec(t, traffic.MarkerSQL("old copy")...)
	if err := guard(nil).Check(t.Context()); err != nil {
		t.Errorf("marked: %v", err)
	}
	refuses("another name", guard(func(g *Guard) { g.Name = "new copy" }), "not marked as")
	candidate.Exec(t, "UPDATE stowage_throw_away.this_server SET server_id = server_id + 1")
	refuses("a copied mark", guard(nil), "names another server")
	candidate.Exec(t, "UPDATE stowage_throw_away.this_server SET server_id = server_id - 1")

	table.Pairs["p"] = &route.Pair{Sides: map[farm.SideName]route.Side{farm.A: {Address: candidate.Address}}}
	refuses("in rotation", guard(nil), "in rotation: side A of p")
	table.Pairs["p"].Sides[farm.A] = route.Side{Address: other.Address}
	if err := guard(nil).Check(t.Context()); err != nil {
		t.Errorf("another is in rotation: %v", err)
	}
	table.Pairs["p"].Sides[farm.A] = route.Side{Address: proxy(t, candidate.Address)}
	refuses("in rotation behind a proxy", guard(nil), "clients are sent to as")
	clear(table.Pairs)
	refuses("in the farm, no routing", guard(func(g *Guard) {
		g.HasTable, g.Instances = false, map[string]farm.InstanceName{candidate.Address: "p-a"}
	}), "no routing.json")
	refuses("routing cannot be read", guard(func(g *Guard) {
		g.Table = func(context.Context) (*route.Table, error) { return nil, io.ErrUnexpectedEOF }
	}), "cannot be read")

	alone := func(g *Guard) { g.Table = nil }
	if err := guard(alone).Check(t.Context()); err != nil {
		t.Errorf("no workspace, nobody else: %v", err)
	}
	db := candidate.DB(t, mariadbtest.App, "shop")
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	refuses("no workspace, a client that stays", guard(alone), "other clients are connected")
	if err := guard(nil).Check(t.Context()); err != nil {
		t.Errorf("with a workspace, a client is no reason: %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = db.Close() })
	if err := guard(alone).Check(t.Context()); err != nil {
		t.Errorf("no workspace, a client that leaves: %v", err)
	}

	candidate.Exec(t, "CREATE USER half@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON *.* TO half@'%'")
	refuses("cannot see", guard(func(g *Guard) { g.Server = as(t, candidate, mysql.Account{User: "half", Password: "x"}) }), "cannot be seen")

	mariadbtest.Replicate(t, other, candidate)
	refuses("with a replica", guard(nil), "replicate from it")
	other.Exec(t, "STOP SLAVE", "RESET SLAVE ALL")
	candidate.Exec(t, "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x', MASTER_PASSWORD='x'")
	refuses("a replica, though stopped", guard(nil), "it replicates from")
	candidate.Exec(t, "RESET SLAVE ALL")
}

// Nobody may come, or do anything, while those who leave are waited for.
func TestWhoMayBeLeaving(t *testing.T) {
	t.Parallel() // it mostly waits
	idle := func(ids ...uint64) (list []traffic.Connection) {
		for _, id := range ids {
			list = append(list, traffic.Connection{ID: id, IsIdle: true})
		}
		return list
	}
	busy := []traffic.Connection{{ID: 1, IsIdle: true}, {ID: 2}}
	for _, x := range []struct {
		name        string
		now, before []traffic.Connection
		want        bool
	}{
		{"they rest", idle(1, 2), idle(1, 2), true},
		{"one has gone", idle(2), idle(1, 2), true},
		{"nobody is left", nil, idle(1, 2), false},
		{"one has come", idle(2, 3), idle(1, 2), false},
		{"one works", busy, idle(1, 2), false},
	} {
		if got := mayBeLeaving(x.now, x.before); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// proxy passes connections on from an address of its own.
func proxy(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in) }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return l.Addr().String()
}

// TestWritesAreApplied on a true throw-away: it ends as the original did.
func TestWritesAreApplied(t *testing.T) {
	t.Parallel() // it mostly waits
	original, candidate := start(t, "original", logging...), start(t, "candidate", logging...)
	openLog(t, original)
	original.Exec(t, "USE shop", "BEGIN", "UPDATE orders SET what = 'sold' WHERE who = 7", "INSERT INTO orders VALUES (5000, 1, 'new', 1)", "COMMIT",
		"BEGIN", "DELETE FROM orders", "ROLLBACK", "CREATE TEMPORARY TABLE mine AS SELECT id FROM orders WHERE who = 3", "DELETE FROM orders WHERE id IN (SELECT id FROM mine)",
		"CREATE TABLE more (id INT PRIMARY KEY)", "INSERT INTO more SELECT NEXTVAL(s)", "SELECT COUNT(*) FROM orders")
	candidate.Exec(t, traffic.MarkerSQL("bin")...)
	g := &Guard{Server: as(t, candidate, all), Name: "bin"}
	is, _ := Doors(g.Server, nil, true)
	out, err := Run(t.Context(), Options{Inputs: []Input{slowLog(t, original)}, Candidate: is, Allow: Allowance{Writes: true}, Guard: g.Check, Speed: 10})
	if err != nil || out.Errors.All != 0 || out.Compared.Different != 0 || out.Sent.Write != 5 || out.Sent.Define != 2 {
		t.Fatalf("%v, %+v, %+v, %+v, %+v", err, out.Errors, out.Compared, out.Sent, out.Examples)
	}
	if got, want := fmt.Sprint(checksums(t, candidate)), fmt.Sprint(checksums(t, original)); got != want {
		t.Errorf("candidate %s, original %s", got, want)
	}
}

// TestRotationDuringTheRun: a server that comes into rotation is left alone at
// once.
func TestRotationDuringTheRun(t *testing.T) {
	t.Parallel() // it mostly waits
	candidate := start(t, "candidate")
	candidate.Exec(t, traffic.MarkerSQL("bin")...)
	var mu sync.Mutex
	table := &route.Table{FormatVersion: 1, Pairs: map[farm.PairName]*route.Pair{}}
	g := &Guard{Server: as(t, candidate, all), Name: "bin", HasTable: true, Table: func(context.Context) (*route.Table, error) {
		mu.Lock()
		defer mu.Unlock()
		return &route.Table{Pairs: maps.Clone(table.Pairs)}, nil
	}}
	var log strings.Builder
	for i := range 6000 {
		log.WriteString(event(noon.Add(time.Duration(i)*10*time.Millisecond), 1, 0, fmt.Sprintf("UPDATE shop.orders SET who = %d WHERE id = 1", i)))
	}
	is, _ := Doors(g.Server, nil, true)
	o := Options{Inputs: []Input{text("slow.log", log.String())}, Candidate: is, Allow: Allowance{Writes: true}, Guard: g.Check, Speed: 1}
	o.Progress = func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Sent > 0 {
			table.Pairs["p"] = &route.Pair{Sides: map[farm.SideName]route.Side{farm.B: {Address: candidate.Address}}}
		}
	}
	out, err := Run(t.Context(), o)
	if !errors.Is(err, farm.ErrRefused) || out == nil || out.Sent.Write == 0 || out.Sent.Write == 6000 {
		t.Errorf("%v, %+v", err, out)
	}
}

// TestCaptureWithValues: prepared statements of a packet capture are executed
// with their values, and rows, warnings and errors are those recorded.
func TestCaptureWithValues(t *testing.T) {
	t.Parallel() // it mostly waits
	path, err := exec.LookPath("tcpdump")
	if err != nil || os.Getuid() != 0 {
		t.Skip("NOT TESTED: replay of captures: tcpdump is not installed, or we are not root")
	}
	original, candidate := start(t, "original"), start(t, "candidate", append(logging, "--general-log=1", "--general-log-file=general.log")...)
	file := filepath.Join(t.TempDir(), "wire.pcap")
	cmd := exec.Command(path, "-i", "any", "-Z", "root", "-B", "16384", "-U", "-w", file, "host", original.Host, "and", "port", strconv.Itoa(original.Port))
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("NOT TESTED: replay of captures: ", err)
	}
	said := make([]byte, 0, 4096)
	for !bytes.Contains(said, []byte("listening on")) {
		n, err := errs.Read(said[len(said):cap(said)])
		if said = said[:len(said)+n]; err != nil {
			_ = cmd.Wait()
			t.Skipf("NOT TESTED: replay of captures: %s", said)
		}
	}
	db, err := sql.Open("mysql", strings.Replace(original.DSN(mariadbtest.App, "shop"), "interpolateParams=true&", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for n := range 20 {
		rows, err := db.Query("SELECT id, what FROM orders WHERE who = ? AND what LIKE ? AND price < ?", n, "thing%", 250.5)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		_, _ = db.Exec("UPDATE orders SET price = ? WHERE id = ?", 1.5, n+1)
		_, _ = db.Exec("SELECT CAST('x' AS INT), ? + 1", n)
		_, _ = db.Exec("SELECT * FROM missing")
	}
	_ = db.Close()
	time.Sleep(time.Second) // packets are in the kernel's buffer for a while
	_ = cmd.Process.Signal(syscall.SIGINT)
	rest, _ := io.ReadAll(errs)
	_ = cmd.Wait()
	if !bytes.Contains(rest, []byte("0 packets dropped by kernel")) {
		t.Skipf("NOT TESTED: the kernel dropped packets: %s", rest)
	}
	in := Input{Name: file, Open: func() (io.ReadCloser, error) { return os.Open(file) }}
	is, _ := Doors(as(t, candidate, reads), nil, false)
	out, err := Run(t.Context(), Options{Inputs: []Input{in}, Candidate: is, Speed: 5})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	_ = WriteText(&page, out, 0)
	if out.Compared.Equal != 60 || out.Compared.Different != 0 || out.Compared.Untold != 0 || out.Errors.All != 20 || out.Errors.ByCode[0].AsRecorded != 20 || out.Sessions.Recorded != 1 {
		t.Errorf("%+v %+v\n%s", out.Compared, out.Errors, page.String())
	}
	general, err := os.ReadFile(filepath.Join(candidate.Datadir, "general.log"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		if want := fmt.Sprintf("Execute\tSELECT id, what FROM orders WHERE who = %d AND what LIKE 'thing%%' AND price < 250.5", n); strings.Count(string(general), want) != 1 {
			t.Errorf("the candidate did not execute %q", want)
		}
	}
	if n := strings.Count(string(general), "Prepare\t"); n != 2 {
		t.Errorf("prepared %d times, want 2", n)
	}
}
