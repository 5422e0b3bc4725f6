package routing

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/engine"
)

// With --engine a move is carried out by an engine that somebody else runs.
func TestMoveOnAnEngineElsewhere(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	server, err := engine.Start(t.Context(), engine.Options{Dir: t.TempDir(), Log: farmtest.QuietLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address := inTheClear(t, server)
	// Killed and resumed there as well.
	if p := farmtest.RunProgram(t, "stowage @ after rewire", "move", "first", "-C", f.Dir, "--engine", address); p.Code != -1 {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	start := time.Now()
	if p := farmtest.RunProgram(t, "", "resume", "-C", f.Dir, "--engine", address); p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d after %v\n%s", p.Code, time.Since(start), p.Stderr)
	}
	f.CheckWhole()
}

// inTheClear is an address at which the engine answers without a certificate,
// as a Temporal cluster does whose owner has decided so.
func inTheClear(t *testing.T, server *engine.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	its := server.TLS().Clone()
	its.NextProtos = []string{"h2"}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := tls.Dial("tcp", server.Address(), its)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return l.Addr().String()
}
