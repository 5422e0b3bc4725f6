package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// With --engine a move is carried out by an engine that somebody else runs.
func TestMoveOnAnEngineElsewhere(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	cmd := exec.Command(filepath.Join(binDir(t), "stowage-engine"), "--db", filepath.Join(t.TempDir(), "engine.db"), "--lifeline")
	alive, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = alive.Close() // it ends with its lifeline
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Address string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	// Killed and resumed there as well.
	if p := runProgram(t, "stowage @ after rewire", "move", "first", "-C", f.dir, "--engine", ready.Address); p.code != -1 {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	start := time.Now()
	if p := runProgram(t, "", "move", "resume", "-C", f.dir, "--engine", ready.Address); p.code != exitFine {
		t.Fatalf("exit %d after %v\n%s", p.code, time.Since(start), p.stderr)
	}
	f.checkWhole()
}
