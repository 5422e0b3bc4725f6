package record

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"stowage/digest"
)

// A recording that is killed loses nothing: --restore threw away what had been recorded, the files of the log and the digest
// of those before.
func TestRestoreKeepsWhatWasRecorded(t *testing.T) {
	b := start(t, "kept", odd...)
	b.r.Options.PieceBytes = 150 << 10
	b.r.Save = "before"
	before := b.settings()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	began, died, windowEnded := make(chan struct{}), make(chan struct{}), false
	b.r.Progress = func(p Progress) {
		if p.Began {
			close(began)
		}
		windowEnded = windowEnded || p.Ended
	}
	rotated := 0
	b.r.Border = func(point string) error {
		switch {
		case point == "after rotate":
			rotated++
		case strings.HasPrefix(point, "before restore "):
			runtime.Goexit() // as a kill: nothing after it is done
		}
		return nil
	}
	go func() {
		defer close(died)
		b.r.SlowLog(ctx, b.target())
	}()
	<-began
	want := map[string]int{}
	for range 3 {
		for class, n := range b.ask(4, 400) {
			want[class] += n
		}
		time.Sleep(look)
	}
	end()
	<-died
	if rotated < 2 || windowEnded {
		t.Fatalf("the log was rotated %d times, ended %v; this test wants several and a kill", rotated, windowEnded)
	}
	b.r.Border, b.r.Progress = nil, nil
	var kept *digest.Digest
	var as string
	b.r.Keep = func(save string, d *digest.Digest) error { as, kept = save, d; return nil }
	out, err := b.r.Restore(t.Context(), b.target().Instance, Here{}, b.target().Server)
	if err != nil || kept == nil || as != "before-"+string(b.target().Instance) || out.Save != as || out.Events != kept.Events() {
		t.Fatalf("%+v, kept as %q: %v", out, as, err)
	}
	classes(t, kept, want)
	same(t, before, b.settings())
	b.nothingLeft()
}
