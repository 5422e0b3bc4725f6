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

func main() {
	stopping := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup the terminal may go
		stopping = append(stopping, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), stopping...)
	ctx, stdout, stderr, done := hearPipes(ctx, os.Stdout, os.Stderr)
	code := run(ctx, os.Args[1:], stdout, stderr, ordered())
	done()
	stop()
	os.Exit(code)
}
