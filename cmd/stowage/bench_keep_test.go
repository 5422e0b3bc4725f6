package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"stowage/farm"
)

// Hours of measuring are not lost with the step that fails: the message says
// where they are, behind what is to be done about the step.
func TestCutShortSaysWhatIsKept(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "new.json")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	never := filepath.Join(t.TempDir(), "never.json")
	failed := &farm.Error{Op: "run fio", Err: errors.New("no space"), Hint: "make room"}
	for _, c := range []struct {
		err  error
		save string
		want string
	}{
		{failed, kept, "make room; what was measured before is kept: the same command goes on from " + kept},
		{errors.New("fio died"), kept, "what was measured before is kept: the same command goes on from " + kept},
		{failed, never, "make room"},
		{failed, "", "make room"},
		{fmt.Errorf("run: %w", farm.ErrInterrupted), kept, "the same command goes on from " + kept},
		{farm.ErrInterrupted, "", "nothing was kept; with --save FILE the next run goes on from there"},
	} {
		got := cutShort(c.err, "/mnt", c.save)
		if farm.Hint(got) != c.want || !errors.Is(got, c.err) {
			t.Errorf("%v, saved to %q: %v, hint %q, want %q", c.err, c.save, got, farm.Hint(got), c.want)
		}
	}
}
