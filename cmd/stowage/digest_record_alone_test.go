package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// Recording one server asked for a farm.yaml and for a [replication] account.
func TestRecordOneServerNeedsNoFarm(t *testing.T) {
	i := mariadbtest.Start(t, "alone")
	state, dir, login := t.TempDir(), t.TempDir(), loginFile(t)
	t.Setenv("XDG_STATE_HOME", state)
	saved := filepath.Join(dir, "before.digest")
	stowage := func(arguments ...string) (int, string) {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"digest", "-C", dir}, arguments...), &out, &out, nil)
		return code, out.String()
	}
	if code, said := stowage("record", i.Address, "--save", "before", "--defaults-file", login); code != exitUsage || !strings.Contains(said, "--save before.digest") {
		t.Errorf("a name without a workspace: exit %d\n%s", code, said)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for k := 0; t.Context().Err() == nil && k < 400; k++ {
			i.Exec(t, fmt.Sprintf("SELECT %d", k))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	code, said := stowage("record", i.Address, "--for", "1500ms", "--save", saved, "--defaults-file", login, "--reserve", "1MB", "--max-running", "0")
	<-ended
	if code != exitFine {
		t.Fatalf("exit %d\n%s", code, said)
	}
	if code, said := stowage(saved); code != exitFine || !strings.Contains(strings.ToLower(said), "select ?") {
		t.Errorf("exit %d\n%s", code, said)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "stowage/.stowage/record/*.json")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if code, said := stowage("record", "--restore", "--defaults-file", login); code != exitFine || !strings.Contains(said, "nothing to put back") {
		t.Errorf("exit %d\n%s", code, said)
	}
	if _, err := os.Stat(filepath.Join(dir, ".stowage")); err == nil {
		t.Error("a workspace was made of a directory that is none")
	}
}
