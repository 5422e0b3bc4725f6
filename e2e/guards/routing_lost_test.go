package guards

import (
	"os"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/route"
)

// ROUTING_LOST: a move is killed behind the fence of a side, and again when the
// side is out; each time somebody takes the routing table away, or puts an older
// one there. No gate opens to a server that refuses writes, the table comes back
// as the move wrote it, above its generation, and no client loses a write.
func TestRoutingTableLostInTheMiddleOfAMove(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	path := f.Dir + "/routing.json"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	killed := func(point string, args ...string) {
		t.Helper()
		p := farmtest.RunWith(t, f.Env("both @ "+point), append(args, "-C", f.Dir)...)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) || p.Code != -1 {
			t.Fatalf("not killed at %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
	}
	says := func(code int, words string, args ...string) {
		t.Helper()
		p := farmtest.RunWith(t, f.Env(""), append(args, "-C", f.Dir)...)
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, words) {
			t.Errorf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, words, p.Stdout, p.Stderr)
		}
	}
	table := func() *route.Table {
		t.Helper()
		got, err := route.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	lose := func() {
		t.Helper()
		was := table()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		says(farmtest.ExitFine, "ROUTING LOST", "status")
		says(farmtest.ExitFine, "has not ended: wrote its table of", "routing", "init")
		now := table()
		if now.Generation <= was.Generation {
			t.Errorf("generation %d after %d", now.Generation, was.Generation)
		}
		for name, p := range was.Pairs {
			for _, key := range []string{"client-01", "alice", "bob", "carol"} {
				r, address := p.Locate(key)
				if again, then := now.Pairs[name].Locate(key); again != r || then != address {
					t.Errorf("%s of %s is sent to %v %s, and was to %v %s", key, name, again, then, r, address)
				}
			}
		}
	}

	killed("after out/fence", "move", "first")
	gate := ""
	for name, p := range table().Pairs {
		for _, side := range farm.SideNames {
			if p.GateIsClosed(side) {
				gate = string(name) + " " + string(side)
			}
		}
	}
	pair, side, found := strings.Cut(gate, " ")
	if !found {
		t.Fatal("no gate is closed behind the fence")
	}
	says(farmtest.ExitRefused, "behind it is read_only", "routing", "open", pair, side)
	lose()
	says(farmtest.ExitFine, "GATE CLOSED: clients of "+pair+" side "+side, "status")

	killed("before rewire", "resume")
	lose()
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(old)
	says(farmtest.ExitFine, "REFUSES WRITES: clients of "+pair+" side "+side, "status")
	says(1, "ROUTING CHANGED: for clients of "+pair+" side "+side, "routing")
	put(kept)
	says(farmtest.ExitFine, "generation", "routing")
	says(farmtest.ExitFine, "", "resume")
	f.ExpectWhole()
}
