package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"stowage/farm"
)

// The exit codes, for every verb. They are an interface: scripts rely on them.
const (
	exitFine        = 0
	exitFindings    = 1   // findings or differences
	exitUsage       = 2   // usage or unreadable input
	exitRefused     = 3   // refused as unsafe; the message says what would make it safe
	exitFailed      = 4   // failed, and undone
	exitUnknown     = 5   // outcome unknown, a person must look
	exitInterrupted = 130 // interrupted, and resumable
)

const exitHelp = `Exit codes:
  0  fine
  1  findings or differences
  2  usage or unreadable input
  3  refused as unsafe (the message says what would make it safe)
  4  failed, and undone
  5  outcome unknown, a person must look
  130  interrupted, and resumable`

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, farm.ErrOutcomeUnknown):
		return exitUnknown
	case errors.Is(err, farm.ErrInterrupted), errors.Is(err, context.Canceled), errors.Is(err, syscall.EPIPE):
		return exitInterrupted
	case errors.Is(err, farm.ErrFindings):
		return exitFindings
	case errors.Is(err, farm.ErrInput):
		return exitUsage
	case errors.Is(err, farm.ErrRefused):
		return exitRefused
	}
	return exitFailed
}

// sayError prints an error as one message: what failed, why, what to do next.
func sayError(w io.Writer, err error) {
	if errors.Is(err, farm.ErrFindings) {
		return // they have been printed
	}
	if errors.Is(err, syscall.EPIPE) {
		return // whoever read it has what was wanted
	}
	fmt.Fprintf(w, "stowage: %v\n", err)
	if hint := farm.Hint(err); hint != "" {
		fmt.Fprintf(w, "  -> %s\n", hint)
	}
}
