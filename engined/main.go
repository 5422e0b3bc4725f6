package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const (
	lockWait  = 15 * time.Second // a predecessor may still be closing the file
	readyWait = 60 * time.Second // measured 0.5 s; a starved machine needs more
	// stopGrace bounds a graceful stop. After it the process simply ends: that is as safe as kill -9, which loses nothing.
	stopGrace = 1200 * time.Millisecond
)

type settings struct {
	db        string
	listen    string
	namespace string
	users     string
	tls       files
	version   bool // print it, and nothing else
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	set, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "stowage-engine:", err)
		return 2
	}
	if set.version {
		fmt.Fprintln(stdout, versionText())
		return 0
	}
	syscall.Umask(0o077) // the file holds what every step was told
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if set.users != "" {
		unused, err := untilUnused(ctx, set.users)
		if err != nil {
			fmt.Fprintln(stderr, "stowage-engine:", err)
			return 1
		}
		ctx = unused
	}
	if err := serve(ctx, set, stdout); err != nil {
		fmt.Fprintln(stderr, "stowage-engine:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var set settings
	flags := flag.NewFlagSet("stowage-engine", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&set.db, "db", "", "SQLite file that holds all state; created when missing")
	flags.StringVar(&set.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 picks a free one")
	flags.StringVar(&set.tls.cert, "tls-cert", "", "certificate to show")
	flags.StringVar(&set.tls.key, "tls-key", "", "its key")
	flags.StringVar(&set.tls.ca, "tls-ca", "", "the authority; everybody who connects shows a certificate of it")
	flags.StringVar(&set.tls.revoked, "tls-revoked", "", "file of revoked certificates: a serial number in hexadecimal digits a line, # begins a comment; read again when it changes")
	flags.StringVar(&set.namespace, "namespace", "stowage", "namespace to create and serve")
	flags.BoolVar(&set.version, "version", false, "print the version and exit")
	flags.StringVar(&set.users, "users", "", "file that each program using the engine keeps locked; stop when none does")
	if err := flags.Parse(args); err != nil {
		return set, err
	}
	if set.version {
		return set, nil
	}
	if set.db == "" {
		return set, errors.New("--db FILE is required")
	}
	if flags.NArg() > 0 {
		return set, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := set.tls.check(); err != nil {
		return set, err
	}
	path, err := filepath.Abs(set.db)
	if err != nil {
		return set, fmt.Errorf("find %s: %w", set.db, err)
	}
	set.db = path
	return set, nil
}

func serve(ctx context.Context, set settings, stdout io.Writer) error {
	lock, err := lockFile(ctx, set.db+".lock", lockWait)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := prepare(ctx, set.db); err != nil {
		return err
	}
	wires, err := newWires(set.tls)
	if err != nil {
		return err
	}
	key, err := openTokenKey(set.db + ".key")
	if err != nil {
		return err
	}
	ports, err := choosePorts(set.listen)
	if err != nil {
		return err
	}
	srv, err := newServer(set, ports, wires, key)
	if err != nil {
		return err
	}
	if err := srv.Start(); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	if err := awaitReady(ctx, ports.frontendAddress(), set.namespace, wires, readyWait); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	line, err := json.Marshal(ready{Address: ports.frontendAddress(), PID: os.Getpid()})
	if err != nil {
		return fmt.Errorf("encode ready line: %w", err)
	}
	if _, err := fmt.Fprintf(stdout, "%s\n", line); err != nil {
		return fmt.Errorf("write ready line: %w", err)
	}
	<-ctx.Done()
	halt(srv.Stop)
	return nil
}

// ready is the one line on stdout.
type ready struct {
	Address string `json:"address"`
	PID     int    `json:"pid"`
}

// halt runs stop, but no longer than stopGrace.
func halt(stop func() error) {
	done := make(chan struct{})
	go func() {
		_ = stop()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(stopGrace):
	}
}
