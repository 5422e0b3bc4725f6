package route

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/internal/lasting"
)

// intent is a change that the processes are being told of. It lies beside the
// table until the table has it.
type intent struct {
	Pair       farm.PairName `json:"pair"`
	Generation int64         `json:"generation"` // of the table that will have it
	Next       *Pair         `json:"next"`
	// Gates: the servers have been changed everywhere, and gates may have been
	// opened to them.
	Gates bool `json:"gates"`
}

func (h *HAProxy) intentPath() string { return h.file.path + ".intent" }

func (h *HAProxy) readIntent() (in intent, there bool, err error) {
	raw, err := os.ReadFile(h.intentPath())
	if errors.Is(err, fs.ErrNotExist) {
		return in, false, nil
	}
	if err == nil {
		_, err = decode(raw, &in)
	}
	if err == nil {
		err = in.Next.check()
	}
	if err != nil {
		return in, false, &farm.Error{Op: "read routing", Subject: h.intentPath(), Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
			Hint: "it says which change was being made when Stowage was killed; compare HAProxy with the table by hand, then remove it"}
	}
	return in, true, nil
}

// writeIntent is durable before the first process is told anything.
func (h *HAProxy) writeIntent(in intent) error { return h.writeBeside(h.intentPath(), in) }

// writeBeside replaces a small file beside the table, durably.
func (h *HAProxy) writeBeside(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fail := func(err error) error {
		return &farm.Error{Op: "write routing", Subject: path, Err: err, Hint: "nothing has been changed"}
	}
	tmp, err := os.CreateTemp(filepath.Dir(h.file.path), tempPrefix+"*") // one that is left over is swept with the table's
	if err != nil {
		return fail(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(raw)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err == nil {
		err = lasting.SyncDir(filepath.Dir(h.file.path))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

func (h *HAProxy) dropIntent() error {
	if err := os.Remove(h.intentPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "write routing", Subject: h.intentPath(), Err: err}
	}
	return nil
}
