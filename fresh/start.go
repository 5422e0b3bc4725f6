package fresh

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// startBudget is for a server that reads its redo log first.
const startBudget = 10 * time.Minute

// Start starts a new instance and makes sure that it is who it should be. One that runs already is only asked.
func Start(ctx context.Context, h host.Host, i host.Instance, server *mysql.Server, id uint32, tell func(string)) error {
	err := h.Start(ctx, i, startBudget)
	if errors.Is(err, host.ErrPrepared) {
		// The copy was taken between the two phases of some commits. Nobody
		// was told of them by this copy; they come again by replication.
		tell("rolling back transactions that were half committed in the copy")
		if err = h.RollbackPrepared(ctx, i); err == nil {
			err = h.Start(ctx, i, startBudget)
		}
	}
	if err != nil {
		return err
	}
	return Check(ctx, server, i, id)
}

// Check makes sure that it is the new instance that answers where it was started, and no other.
func Check(ctx context.Context, server *mysql.Server, here host.Instance, id uint32) error {
	vars, err := server.Variables(ctx, "server_id", "datadir")
	if err != nil {
		return err
	}
	want := strconv.FormatUint(uint64(id), 10)
	if vars["server_id"] != want || filepath.Clean(vars["datadir"]) != filepath.Clean(here.Datadir) {
		return &farm.Error{Op: "start", Subject: string(here.Name),
			Err:  fmt.Errorf("%w: at %s answers server_id %s with datadir %s, want %s and %s", farm.ErrRefused, here.Dial(), vars["server_id"], vars["datadir"], want, here.Datadir),
			Hint: "another server listens on the address the plan gives to the new instance"}
	}
	return nil
}
