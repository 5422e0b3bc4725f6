package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFollowStoppedByHand: whoever stops it is told where it stands and how to go on, not "context canceled".
func TestFollowStoppedByHand(t *testing.T) {
	stopped := fmt.Errorf("read: %w", context.Canceled)
	for _, x := range []struct{ state, want string }{{"", "--from 1-1-17"}, {"files.state", "the same command"}} {
		err := followEnd(stopped, followFlags{shard: "shard001", state: x.state}, "1-1-17")
		var said strings.Builder
		sayError(&said, err)
		if exitCode(err) != exitInterrupted || strings.Contains(said.String(), "context") || !strings.Contains(said.String(), x.want) || !strings.Contains(said.String(), "behind 1-1-17") {
			t.Errorf("exit %d: %s", exitCode(err), said.String())
		}
	}
	if err := errors.New("no such table"); !errors.Is(followEnd(err, followFlags{}, ""), err) {
		t.Error("another error is not handed on")
	}
}
