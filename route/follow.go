package route

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"stowage/farm"
)

// Follower is a client's view of a routing file: the newest table that could
// be read, looked at again before each use. While the file cannot be read, a
// client waits, as at a closed gate: what it knew may be over. It is safe for
// several goroutines.
type Follower struct {
	path  string
	state atomic.Pointer[seen]
}

type seen struct {
	table  *Table
	places map[farm.ShardName]farm.PairName
	mtime  time.Time
	inode  uint64
}

// Follow opens a routing file for a client.
func Follow(path string) (*Follower, error) {
	f := &Follower{path: path}
	if err := f.look(); err != nil {
		return nil, err
	}
	return f, nil
}

// Lookup looks at the file (one stat; a read only when it was replaced) and
// returns the route and address of a client key. ok is false for a pair the
// table does not know. Of a file that cannot be read the gate is closed.
func (f *Follower) Lookup(pair farm.PairName, key string) (r Route, address string, ok bool) {
	if f.look() != nil {
		return Route{Gate: Closed}, "", true
	}
	p, ok := f.state.Load().table.Pairs[pair]
	if !ok {
		return Route{}, "", false
	}
	r, address = p.Locate(key)
	return r, address, true
}

// Table is the newest table that was read, also while the file cannot be.
func (f *Follower) Table() *Table {
	_ = f.look()
	return f.state.Load().table
}

// AwaitOpen waits until the gate of a key is open and returns the address. It
// looks every 2 ms: a gate is closed for tens of milliseconds.
func (f *Follower) AwaitOpen(ctx context.Context, pair farm.PairName, key string) (Route, string, error) {
	for {
		r, address, ok := f.Lookup(pair, key)
		if ok && r.Gate == Open {
			return r, address, nil
		}
		select {
		case <-ctx.Done():
			return r, address, ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (f *Follower) look() error {
	st, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	inode := uint64(0)
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		inode = sys.Ino
	}
	if s := f.state.Load(); s != nil && s.inode == inode && s.mtime.Equal(st.ModTime()) {
		return nil
	}
	t, err := ReadFile(f.path)
	if err != nil {
		return err
	}
	// Two goroutines may race here with an older and a newer read: keep the
	// newer generation.
	next := &seen{table: t, places: t.places(), mtime: st.ModTime(), inode: inode}
	for {
		s := f.state.Load()
		if s != nil && s.table.Generation > t.Generation {
			return nil
		}
		if f.state.CompareAndSwap(s, next) {
			return nil
		}
	}
}
