package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// written is what a program prints while it runs.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// What was in the log before does not count; what is added does, also behind a rotation; Ctrl-C ends it and keeps it all.
func TestFollowALogThatIsRotated(t *testing.T) {
	dir := t.TempDir()
	log, saved := filepath.Join(dir, "slow.log"), filepath.Join(dir, "seen.digest")
	add := func(n int, statement string) {
		t.Helper()
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			fmt.Fprintf(f, "# User@Host: app[app] @ h []\n# Query_time: 0.01  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795000000;\n%s;\n", statement)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	add(50, "SELECT old FROM t")
	ctx, end := context.WithCancel(t.Context())
	var out written
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"digest", log, "--follow", "--every", "20ms", "--save", saved, "-C", dir}, &out, &out, nil)
	}()
	until := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), text); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%q never came:\n%s", text, out.String())
			}
		}
	}
	until("Overall")
	add(30, "SELECT young FROM t")
	until("29 events") // the last one waits for what follows
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	add(20, "SELECT younger FROM t")
	until("49 events")
	end()
	if got := <-code; got != exitFine && got != exitInterrupted {
		t.Errorf("exit %d", got)
	}
	if r, _ := digestJSON(t, saved); r.Events != 50 || r.ClassCount != 2 {
		t.Errorf("kept %d events in %d classes", r.Events, r.ClassCount)
	}
}
