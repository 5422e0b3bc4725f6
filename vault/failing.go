package vault

import (
	"context"
	"io"
)

// Failing is a vault that could not be opened: whatever it is asked, it answers with that.
func Failing(err error) Vault { return failing{err} }

type failing struct{ err error }

func (f failing) Put(context.Context, string, string, func(io.Writer) error) (Part, error) {
	return Part{}, f.err
}
func (f failing) Seal(context.Context, Manifest, map[string]string) error { return f.err }
func (f failing) Drop(context.Context, string) error                      { return f.err }
func (f failing) Sets(context.Context, string) ([]Manifest, error)        { return nil, f.err }
func (f failing) Get(context.Context, string, string, io.Writer) error    { return f.err }
func (f failing) Check(context.Context, string) error                     { return f.err }
func (f failing) Remove(context.Context, string) error                    { return f.err }
func (f failing) Free(context.Context) (int64, error)                     { return 0, f.err }
