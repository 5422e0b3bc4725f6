package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"stowage/internal/border"
)

// TestMain lets the test binary be the program itself: with playsProgram set it
// runs the arguments it is given and, when told so, kills what it is told to
// kill at a border between two steps.
func TestMain(m *testing.M) {
	if os.Getenv(playsProgram) == "" {
		_ = flag.Set("test.parallel", farmsAtOnce) // unless -parallel says otherwise
		// Tests that are the program themselves find its engine.
		if bin, err := filepath.Abs("../../bin"); err == nil {
			_ = os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, stdout, stderr, _ := hearPipes(ctx, os.Stdout, os.Stderr)
	os.Exit(run(ctx, os.Args[1:], stdout, stderr, border.Ordered()))
}

// farmsAtOnce is how many tests that call t.Parallel run at once. Each has a farm
// of two to four servers (some 300 MB) and mostly waits for them, so there are
// more than cores.
const farmsAtOnce = "6"

const (
	playsProgram = "STOWAGE_TEST_PROGRAM"
)
