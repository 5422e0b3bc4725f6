package move

import (
	"context"
	"fmt"

	"stowage/farm"
	"stowage/host"
)

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
