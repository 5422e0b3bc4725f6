package guards

import (
	"os"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

// BROKEN_FILES: somebody breaks farm.yaml, and then the routing table, in the
// middle of a move, or deletes the first. Every verb that steers goes on working,
// `out` waits for the table and `retire` for farm.yaml, and a move that was killed is taken back by abort.
func TestBrokenFilesTakeNoSteeringVerbAway(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	farmFile, table := f.Dir+"/farm.yaml", f.Dir+"/routing.json"
	read := func(path string) []byte {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	put := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	says := func(code int, words string, args ...string) {
		t.Helper()
		p := farmtest.RunWith(t, f.Env(""), append(args, "-C", f.Dir)...)
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, words) {
			t.Errorf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, words, p.Stdout, p.Stderr)
		}
	}
	h := f.HoldAt("before out")
	agreed := read(farmFile)
	put(farmFile, append(agreed, "\npairs: [\n"...))
	says(farmtest.ExitFine, "uses the copy of farm.yaml that it keeps", "status")
	says(farmtest.ExitFine, "paused", "pause")
	says(farmtest.ExitFine, "goes on", "resume")
	says(farmtest.ExitFine, "", "throttle", "off")
	says(farmtest.ExitFine, "resume", "log")
	says(farmtest.ExitUsage, "farm.yaml", "plan")
	if err := os.Remove(farmFile); err != nil {
		t.Fatal(err)
	}
	says(farmtest.ExitFine, "uses the copy of farm.yaml that it keeps", "status")
	says(farmtest.ExitFine, "paused", "pause")
	says(farmtest.ExitFine, "goes on", "resume")
	says(farmtest.ExitFine, "resume", "log")
	says(farmtest.ExitUsage, "cp .stowage/kept/farm.yaml farm.yaml", "plan")

	routes := read(table)
	put(table, []byte("{garbage"))
	h.Release(false)
	awaits := func(words string) {
		t.Helper()
		for end := time.Now().Add(farmtest.WaitLimit); ; time.Sleep(50 * time.Millisecond) {
			p := farmtest.RunWith(t, f.Env(""), "status", "-C", f.Dir)
			if strings.Contains(p.Stdout, words) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("nothing %s\n%s%s", words, p.Stdout, p.Stderr)
			}
		}
	}
	awaits("waits for a routing table")
	put(table, routes)
	awaits("waits for a farm.yaml") // at retire
	put(farmFile, agreed)
	if p := <-h.End; p.Code != farmtest.ExitFine {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}

	f.TurnAround()
	p := farmtest.RunWith(t, f.Env("both @ before rewire"), "move", f.Plan(), "-C", f.Dir)
	if !strings.Contains(p.Stderr, farmtest.MarkOfKill) {
		t.Fatalf("not killed: exit %d\n%s", p.Code, p.Stderr)
	}
	agreed = read(farmFile)
	put(farmFile, []byte("farm: [\n"))
	says(farmtest.ExitFine, "interrupted", "status")
	if err := os.Remove(farmFile); err != nil {
		t.Fatal(err)
	}
	says(farmtest.ExitFine, "interrupted", "status")
	says(farmtest.ExitFine, "", "abort")
	put(farmFile, agreed)
	f.ExpectWhole()
}
