package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"stowage/farm"
	"stowage/feed"
	"stowage/snapshot"
	"stowage/workspace"
)

// chunkState is what a snapshot in chunks goes on from: a file of its own keeps it, and FILE.rows has the rows.
type chunkState struct {
	FormatVersion int               `json:"format_version"`
	Shard         farm.ShardName    `json:"shard"`
	Tenant        string            `json:"tenant"`
	Spec          string            `json:"spec"`
	Columns       []string          `json:"columns"`
	Progress      snapshot.Progress `json:"progress"`
}

// snapshotChunks reads what is left of a snapshot in chunks. done removes its state, once what was written has its name.
func (a *app) snapshotChunks(ctx context.Context, f snapshotFlags, src *snapshotSource, out io.Writer) (sum snapshot.Summary, done func(), err error) {
	rows := f.state + ".rows"
	spool, err := os.OpenFile(rows, os.O_CREATE|os.O_RDWR, 0o600) // it is a customer's data
	if err != nil {
		return sum, nil, unwritten(rows, err)
	}
	defer spool.Close()
	if err := syscall.Flock(int(spool.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return sum, nil, &farm.Error{Op: "open state", Subject: f.state, Err: fmt.Errorf("%w: another snapshot uses it", farm.ErrRefused), Hint: "give each snapshot its own state file"}
	}
	state := chunkState{FormatVersion: 1, Shard: src.shard, Tenant: f.tenant, Spec: src.shape.Name, Columns: src.shape.Columns()}
	if state.Progress, err = readChunkState(f.state, state, spool); err != nil {
		return sum, nil, err
	}
	if state.Progress.ServerID == 0 {
		if state.Progress.ServerID, err = feed.FreeServerID(ctx, src.seen.Server); err != nil {
			return sum, nil, err
		}
	} else {
		a.say("continuing after %s", farm.Counted(state.Progress.Rows, "row"))
	}
	c := snapshot.Chunked{Shape: src.shape, Shard: src.shard, Tenant: f.tenant, Server: src.seen.Server, Progress: state.Progress, Spool: spool, Tell: func(text string) { a.say("%s", text) },
		Keep: func(p snapshot.Progress) error {
			state.Progress = p
			text, err := json.MarshalIndent(state, "", " ")
			if err != nil {
				return err
			}
			return workspace.WriteFileAtomic(f.state, append(text, '\n'), 0o600)
		}}
	sum, err = c.Run(ctx, out)
	return sum, func() {
		_ = os.Remove(f.state) // first: without it the rows are nobody's
		_ = os.Remove(rows)
	}, err
}

// readChunkState is how far the snapshot was; nothing where there is no file yet. One that was made for something else is refused.
func readChunkState(path string, want chunkState, spool *os.File) (snapshot.Progress, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return snapshot.Progress{}, nil
	}
	var is chunkState
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err == nil {
		have := is
		have.Progress = snapshot.Progress{}
		if a, b := fmt.Sprint(have), fmt.Sprint(want); a != b {
			err = fmt.Errorf("it is of shard %s, tenant %s, by the spec %s with the columns %v", is.Shard, is.Tenant, is.Spec, is.Columns)
		}
	}
	if err == nil {
		var stat os.FileInfo
		if stat, err = spool.Stat(); err == nil && stat.Size() < is.Progress.Bytes {
			err = fmt.Errorf("%s.rows has %d bytes, %d are missing", path, stat.Size(), is.Progress.Bytes-stat.Size())
		}
	}
	if err != nil {
		return snapshot.Progress{}, &farm.Error{Op: "open state", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give each snapshot its own state file; remove this one to start again"}
	}
	return is.Progress, nil
}
