package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
	"stowage/store"
	"stowage/workspace"
)

// app is what all verbs share: where to work, how to speak.
type app struct {
	stdout, stderr io.Writer
	dir            string
	json           bool
	verbose        bool
	log            *slog.Logger
	// border is told every border between steps of a move; tests kill the
	// program there, or let the step fail. Nil in production.
	border func(point string) error
	// repair: copies whose rows differ may be made equal.
	repair bool
	terms  move.Terms // of the move that is begun
}

// run is the program: arguments in, exit code out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, border func(string) error) int {
	a := &app{stdout: stdout, stderr: stderr, border: border}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		explain(stderr, err)
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stowage",
		Short: "Pack a sharded MySQL or MariaDB farm into fewer, faster servers, live, and prove it",
		Long: `Stowage packs a sharded MySQL or MariaDB farm into fewer, faster servers,
live, and proves that it was worth it: know, measure, plan, act, prove.

Try it:   stowage demo          a real farm on this machine, downsized under load
Use it:   in a directory with a farm.yaml: inventory, plan, move, digest, report
          anywhere: digest, bench, tune

` + exitHelp,
		Example: "  stowage demo\n  stowage -C farm plan --name first",
		Version: version,
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) > 0 {
				return unknownVerb(c, given[0])
			}
			return c.Help()
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			level := slog.LevelWarn
			if a.verbose {
				level = slog.LevelDebug
			}
			a.log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
		},
	}
	root.PersistentFlags().StringVarP(&a.dir, "dir", "C", ".", "the workspace: a directory with a farm.yaml")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON object on standard output")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log every statement (never a password) to standard error")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	root.SetHelpFunc(help)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.demoCommand(), a.inventoryCommand(), a.planCommand(), a.moveCommand(),
		a.routingCommand(), a.digestCommand(), a.reportCommand(), a.serveCommand(), a.tuneCommand())
	root.AddCommand(a.replayCommand(), a.agentCommand(), a.benchCommand())
	for _, extra := range extras {
		root.AddCommand(extra(a))
	}
	addCompletion(root)
	return root
}

// extras are commands of builds for a purpose of their own; see man.go.
var extras []func(*app) *cobra.Command

// usage dresses a mistake at the command line.
func usage(c *cobra.Command, err error) error {
	text := err.Error()
	if i := strings.Index(text, ": strconv."); i >= 0 {
		text = text[:i] + ": it wants a number" // rather than the name of a Go function
	}
	return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %s", farm.ErrInput, text), Hint: c.CommandPath() + " --help"}
}

// args checks the number of arguments with an error of ours.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		err := check(c, given)
		switch {
		case err == nil:
			return nil
		case len(given) > 0 && c.HasSubCommands():
			return unknownVerb(c, given[0])
		}
		return usage(c, fmt.Errorf("%d arguments given, it is: %s", len(given), strings.TrimSuffix(c.UseLine(), " [flags]")))
	}
}

// write replaces a file that the person named.
func write(path string, text []byte) error {
	err := workspace.WriteFileAtomic(path, text, 0o644)
	if err == nil {
		return nil
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err // it names a temporary file
	}
	return &farm.Error{Op: "write", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a file in a directory that is there and may be written"}
}

// emit prints the person's view, or with --json the same facts as one object.
func (a *app) emit(value any, text func(io.Writer) error) error {
	if !a.json {
		return a.inOnePiece(text)
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", " ")
	return enc.Encode(value)
}

// inOnePiece prints what write writes line by line, with as few calls of the
// system as that takes.
func (a *app) inOnePiece(write func(io.Writer) error) error {
	b := bufio.NewWriter(a.stdout)
	if err := write(b); err != nil {
		_ = b.Flush() // what there is; its own error would be the same
		return err
	}
	return b.Flush()
}

// say tells a person what is going on, on standard error.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

// desk is an open workspace.
type desk struct {
	*workspace.Workspace
	store              *store.Store
	farm               *farm.Farm
	admin, replication mysql.Account
}

// open opens the workspace and its store.
func (a *app) open() (*desk, error) {
	return a.openStore(func(ws *workspace.Workspace) (*store.Store, error) {
		return store.Open(filepath.Join(ws.State(), "stowage.db"))
	})
}

// look is open for who only reads: nothing is made, also where nothing is kept yet.
func (a *app) look() (*desk, error) { return a.openStore(kept) }

// kept is what the workspace keeps, to be read.
func kept(ws *workspace.Workspace) (*store.Store, error) {
	return store.OpenToRead(ws.StatePath("stowage.db"))
}

func (a *app) openStore(open func(*workspace.Workspace) (*store.Store, error)) (*desk, error) {
	ws, err := workspace.Open(a.dir)
	if err != nil {
		return nil, err
	}
	f, err := ws.Farm()
	if err != nil {
		return nil, err
	}
	s, err := open(ws)
	if err != nil {
		return nil, err
	}
	return &desk{Workspace: ws, farm: f, store: s}, nil
}

// login reads the accounts that talking to servers needs.
func (d *desk) login() (err error) {
	if d.farm.Accounts == "" {
		return &farm.Error{Op: "read accounts", Subject: "farm.yaml", Err: fmt.Errorf("%w: no accounts: key", farm.ErrInput),
			Hint: "name an option file with the groups [stowage] and [replication]"}
	}
	path := d.Path(d.farm.Accounts)
	if d.admin, err = mysql.ReadAccount(path, "stowage"); err != nil {
		return err
	}
	d.replication, err = mysql.ReadAccount(path, "replication")
	return err
}

func (d *desk) close() { _ = d.store.Close() }

func (a *app) server(d *desk) func(farm.InstanceName, string) *mysql.Server {
	return func(name farm.InstanceName, address string) *mysql.Server {
		return mysql.Open(name, address, d.admin, a.log)
	}
}
