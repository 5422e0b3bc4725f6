package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/host"
	"stowage/workspace"
)

// keptLog is how much of the end of an error log is kept.
const keptLog = 1 << 20

// removeFresh removes an instance that is taken back, and keeps what it has said:
// its directory goes, and why it had to go may stand nowhere else. A log that
// cannot be kept keeps nothing from being taken back.
func (t *task) removeFresh(ctx context.Context, h host.Host, i host.Instance, owner string) error {
	// Only of what is ours: Remove asks the same.
	if h.Claimable(ctx, i, owner) == nil {
		t.keepErrorLog(ctx, h, i)
	}
	return h.Remove(ctx, i, owner)
}

func (t *task) keepErrorLog(ctx context.Context, h host.Host, i host.Instance) {
	raw, err := h.ReadFile(ctx, filepath.Join(i.Dir(), host.ErrorLog))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(raw) == 0 {
		return
	}
	var path string
	if err == nil {
		path, err = keepLog(filepath.Join(t.mover.Workspace.State(), "errorlogs"), t.Run, string(i.Name), raw)
	}
	text := "its error log is kept: " + path
	if err != nil {
		text = fmt.Sprintf("its error log could not be kept: %v", err)
	}
	t.Report(farm.Event{Kind: farm.StepProgress, Text: text})
}

// keepLog writes the end of a log into a directory, and says where. A later
// one of the same run and instance replaces it.
func keepLog(dir, run, instance string, log []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, run+"-"+instance+".log")
	return path, workspace.WriteFileAtomic(path, log[max(0, len(log)-keptLog):], 0o600)
}
