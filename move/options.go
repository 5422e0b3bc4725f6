package move

import (
	"context"
	"fmt"
	"sync"

	"stowage/farm"
	"stowage/host"
)

// editing lets one act at a time change an option file: servers of several
// parts may start with one.
type editing struct{ files sync.Map }

// lock waits for whoever changes the file just now. Its name is enough: hosts
// that have a file of one name wait for each other for a moment.
func (e *editing) lock(path string) (unlock func()) {
	if e == nil { // one step alone
		return func() {}
	}
	m, _ := e.files.LoadOrStore(path, &sync.Mutex{})
	m.(*sync.Mutex).Lock()
	return m.(*sync.Mutex).Unlock
}

// editOptions changes an option file, or leaves it alone when there is nothing
// to change.
func (m *Mover) editOptions(ctx context.Context, h host.Host, i host.Instance, change func(string) string) error {
	defer m.edited.lock(i.Config)()
	was, err := h.ReadFile(ctx, i.Config)
	if err != nil {
		return err
	}
	is := change(string(was))
	if is == string(was) {
		return nil
	}
	return h.WriteFile(ctx, i.Config, []byte(is))
}

// startOptions is the text of an option file with which another server starts as
// this instance does, without what Stowage has written for this one.
func startOptions(ctx context.Context, h host.Host, i host.Instance) (string, error) {
	start, err := h.Options(ctx, i)
	if err != nil {
		return "", err
	}
	if start.Contained != 0 {
		return "", fmt.Errorf("%w: its server, pid %d, runs in a container", farm.ErrRefused, start.Contained)
	}
	own, err := h.ReadFile(ctx, i.Config)
	if err != nil {
		return "", err
	}
	return start.Text(i, host.UnfenceOptions(i, string(own))), nil
}
