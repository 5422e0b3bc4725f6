package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/engine"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// Nobody reads a byte from any socket of an engine that is for this machine alone, and none of its files.
func TestNobodyReachesTheEmbeddedEngine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: another user against the engine (needs root)")
	}
	binary, err := filepath.Abs("../../bin/stowage-engine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skip("NOT TESTED: another user against the engine: make build")
	}
	dir := farmtest.OpenToNobody(t)
	s, err := engine.Start(t.Context(), engine.Options{Binary: binary, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := engine.Dial(t.Context(), s.Address(), engine.Options{Dir: dir, TLS: s.TLS()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sockets, err := farmtest.Listening(s.PID())
	if err != nil || len(sockets) != 3 {
		t.Fatalf("the engine listens on %q (%v), want frontend, history and matching", sockets, err)
	}
	files := []string{"engine.db", "engine.db-wal", "engine.db.key", "engine.key", "engine.log"}
	for i, f := range files {
		files[i] = filepath.Join(dir, f)
	}
	if _, err := os.Stat(files[3]); err != nil {
		t.Error(err)
	}
	farmtest.AsNobody(t, dir, sockets, append(files, fmt.Sprintf("/proc/%d/environ", s.PID())), nil)
}
