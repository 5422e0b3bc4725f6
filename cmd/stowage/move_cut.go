package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"stowage/act"
	"stowage/session"
	"stowage/store"
)

// cutMove is a move that was killed while it asked whether it may begin.
type cutMove struct {
	FormatVersion int       `json:"format_version"`
	State         string    `json:"state"` // not-begun
	Command       string    `json:"command"`
	Since         time.Time `json:"since"`
}

// cutInPreflight is nil when the last move that was begun here has become a run.
func cutInPreflight(d *session.Session) *cutMove {
	held := d.Died()
	if held == nil || !strings.HasPrefix(held.Purpose, "move ") || held.Purpose == "move resume" || strings.HasPrefix(held.Purpose, "move abort") {
		return nil
	}
	last, err := act.Latest(d.Store)
	if err != nil && !errors.Is(err, store.ErrNone) || err == nil && !held.Since.After(last.Started) {
		return nil
	}
	return &cutMove{FormatVersion: 1, State: "not-begun", Command: "stowage " + held.Purpose, Since: held.Since}
}

func (n *cutMove) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s of %s was ended in preflight: it had not begun, and nothing was touched\n", n.Command, n.Since.Local().Format(time.DateTime))
	return err
}
