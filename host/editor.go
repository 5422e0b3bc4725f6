package host

import (
	"context"
	"sync"
)

// Editor changes option files, one step at a time: servers of several parts may start with one file. Nil: one step alone.
type Editor struct{ files sync.Map }

// lock waits for whoever changes the file just now. Its name is enough: hosts
// that have a file of one name wait for each other for a moment.
func (e *Editor) lock(path string) (unlock func()) {
	if e == nil {
		return func() {}
	}
	m, _ := e.files.LoadOrStore(path, &sync.Mutex{})
	m.(*sync.Mutex).Lock()
	return m.(*sync.Mutex).Unlock
}

// Edit changes the option file of an instance, or leaves it alone when there is
// nothing to change.
func (e *Editor) Edit(ctx context.Context, h Host, i Instance, change func(string) string) error {
	defer e.lock(i.Config)()
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
