// Command stowage packs a sharded MySQL or MariaDB farm into fewer, faster
// servers, live, and proves that it was worth it. Each file here wires one
// verb; the work is in the packages of the same names.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "unreleased"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, nil)
	stop()
	os.Exit(code)
}
