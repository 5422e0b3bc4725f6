package route_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"stowage/farm"
	"stowage/route"
)

func follow(t *testing.T, f *route.File) *route.Follower {
	t.Helper()
	follower, err := route.Follow(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	return follower
}

func edit(t *testing.T, f *route.File, change func(*route.Pair)) {
	t.Helper()
	if err := f.Change(t.Context(), pairName, func(p *route.Pair) error { change(p); return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestFollowerMissesNoChange: a client that looks only after every second
// change must still notice. The file system may give the new file the inode
// of the one before last, and its clock may tick only every 4 ms.
func TestFollowerMissesNoChange(t *testing.T) {
	f := newFile(t, onePair())
	follower := follow(t, f)
	for n := range 500 {
		want := fmt.Sprintf("127.0.10.1:%d", 1000+n)
		edit(t, f, func(p *route.Pair) { p.CloseGate(farm.A) })
		edit(t, f, func(p *route.Pair) {
			p.Serve(farm.A, farm.A, want, 100)
			p.OpenGate(farm.A)
		})
		if _, address, ok := follower.Lookup(pairName, "client-01"); !ok || address != want {
			t.Fatalf("change %d: the follower says %s, the file %s", n, address, want)
		}
	}
}

// TestFilesDifferInTime: generations differ in modification time, strictly
// growing, so that "modification time and inode" tells any two apart.
func TestFilesDifferInTime(t *testing.T) {
	f := newFile(t, onePair())
	var last time.Time
	for n := range 300 {
		edit(t, f, func(p *route.Pair) { p.Shards = []farm.ShardName{farm.ShardName(fmt.Sprint(n))} })
		st, err := os.Stat(f.Path())
		if err != nil {
			t.Fatal(err)
		}
		if !st.ModTime().After(last) {
			t.Fatalf("change %d was written at %s, the one before at %s", n, st.ModTime(), last)
		}
		last = st.ModTime()
	}
}

// TestFollowerWaitsWhileThereIsNoTable: a client that continues with what it knew
// writes where nobody serves any more.
func TestFollowerWaitsWhileThereIsNoTable(t *testing.T) {
	f := newFile(t, onePair())
	follower := follow(t, f)
	if _, _, ok := follower.Lookup("dbshard999", "client-01"); ok {
		t.Error("an unknown pair was found")
	}
	if err := os.Rename(f.Path(), f.Path()+".away"); err != nil {
		t.Fatal(err)
	}
	check := func(when, want string) {
		t.Helper()
		r, address, ok := follower.Lookup(pairName, "client-01")
		if !ok || address != want || (r.Gate == route.Open) != (want != "") {
			t.Errorf("%s: %s, gate %s, %v, want %q", when, address, r.Gate, ok, want)
		}
		if _, _, _, serves := follower.LookupShard("s", "client-01"); serves != (want != "") {
			t.Errorf("%s: the shard is served: %v", when, serves)
		}
	}
	check("file away", "")
	if err := os.WriteFile(f.Path(), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("file broken", "")
	if err := os.Rename(f.Path()+".away", f.Path()); err != nil {
		t.Fatal(err)
	}
	check("file back", "127.0.10.1:23306")
	edit(t, f, func(p *route.Pair) { p.Serve(farm.A, farm.A, "127.0.10.9:23306", 100) })
	check("file changed", "127.0.10.9:23306")
}

// TestAwaitOpen waits for the gate of its own key only, and as long as ctx.
func TestAwaitOpen(t *testing.T) {
	f := newFile(t, onePair())
	follower := follow(t, f)
	edit(t, f, func(p *route.Pair) { p.CloseGate(farm.A) })
	if r, address, err := follower.AwaitOpen(t.Context(), pairName, "alice"); err != nil || r.Side != farm.B || address != "127.0.10.2:23306" {
		t.Errorf("a key of B behind a closed gate of A: %+v %s %v", r, address, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, _, err := follower.AwaitOpen(short, pairName, "client-01"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a closed gate let a client through: %v", err)
	}
	opened := make(chan string)
	go func() {
		_, address, err := follower.AwaitOpen(t.Context(), pairName, "client-01")
		if err != nil {
			address = err.Error()
		}
		opened <- address
	}()
	edit(t, f, func(p *route.Pair) { p.Serve(farm.A, farm.B, "127.0.10.2:23306", 100); p.OpenGate(farm.A) })
	if address := <-opened; address != "127.0.10.2:23306" {
		t.Errorf("after the gate was opened: %s", address)
	}
}
