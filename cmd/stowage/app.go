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
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"stowage/act"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
	"stowage/workspace"
)

// app is what all verbs share: where to work, how to speak.
type app struct {
	stdout, stderr io.Writer
	dir            string
	json           bool
	wide           bool // tables in full
	verbose        bool
	log            *slog.Logger
	// border is told every border between steps of a move; tests kill the
	// program there, or let the step fail. Nil in production.
	border func(point string) error
	// repair: copies whose rows differ may be made equal.
	repair bool
	run    string    // the one to steer; "": the only one that has not ended, or the newest
	engine string    // host:port of a Temporal cluster; "": an engine of our own, or that of farm.yaml
	terms  act.Terms // of the move that is begun
	noVerb error     // help was asked for a word that is not a verb
	busy   *busy
	args   []string          // as they were typed
	next   []string          // commands to type once the verb has ended: see then
	heard  *seen[promAnswer] // what pages remember of Prometheus; nil: it is asked each time
	agreed *farm.Farm        // that serve has read before it listened; nil: none was read
}

// run is the program: arguments in, exit code out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, border func(string) error) int {
	a := &app{stdout: stdout, stderr: stderr, border: border, busy: &busy{}, args: args}
	root := a.root()
	if slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, cobra.ShellCompRequestCmd) }) {
		completeNames(a, root)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.noVerb
	}
	if err != nil {
		sayError(stderr, err)
	}
	a.sayNext(err)
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stowage",
		Short: "Pack a sharded MySQL or MariaDB farm into fewer, faster servers, live, and prove it",
		Long: `Stowage packs a sharded MySQL or MariaDB farm into fewer, faster servers,
live, and proves that it was worth it: know, measure, plan, act, steer, prove.

Try it:   stowage demo          a real farm on this machine, downsized under load
Use it:   in a directory with a farm.yaml: inventory, plan, move, digest, report
          anywhere: digest, bench, tune

` + exitHelp,
		Example: "  stowage demo\n  stowage -C farm plan --name first",
		Version: versionText(),
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
	root.PersistentFlags().BoolVar(&a.wide, "wide", false, "write tables in full, also where the terminal is narrower")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log every statement (never a password) to standard error")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	root.SetHelpFunc(a.help)
	root.SetHelpCommand(helpCommand())
	cobra.EnableCommandSorting = false // in the order of the road
	for _, g := range []struct {
		id, title string
		verbs     []*cobra.Command
	}{
		{"try", "Try it", []*cobra.Command{a.demoCommand()}},
		{"know", "Know what is there", []*cobra.Command{a.inventoryCommand(), a.schemaCommand(), a.domainsCommand(), a.routingCommand(), a.doctorCommand(), a.explainCommand(), a.dueCommand(), a.metricsCommand()}},
		{"measure", "Measure", []*cobra.Command{a.digestCommand(), a.benchCommand(), a.tuneCommand(), a.replayCommand()}},
		{"plan", "Plan", []*cobra.Command{a.planCommand(), a.capacityCommand()}},
		{"act", "Act", []*cobra.Command{a.moveCommand(), a.alterCommand(), a.reshapeCommand(), a.snapshotCommand(), a.followCommand(), a.rollCommand(), a.sideCommand(), a.backupCommand(), a.restoreCommand(), a.agentCommand()}},
		{steerGroup, "Steer what runs", a.steeringCommands()},
		{"prove", "Prove and show", []*cobra.Command{a.reportCommand(), a.serveCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title + ":"})
		for _, verb := range g.verbs {
			verb.GroupID = g.id
			root.AddCommand(verb)
		}
	}
	root.AddCommand(a.manCommand())
	addCompletion(root)
	return root
}

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
func write(path string, text []byte) error { return writeAs(path, text, 0o644) }

// writeSecret is write for what only the caller may read.
func writeSecret(path string, text []byte) error { return writeAs(path, text, 0o600) }

func writeAs(path string, text []byte, mode fs.FileMode) error {
	err := workspace.WriteFileAtomic(path, text, mode)
	if err == nil {
		return nil
	}
	return unwritten(path, err)
}

func unwritten(path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err // it names a temporary file
	}
	return &farm.Error{Op: "write", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a file in a directory that is there and may be written"}
}

// emit prints the person's view, or with --json the same facts as one object; next are the commands to type then, as then has them.
func (a *app) emit(value any, text func(io.Writer) error, next ...string) error {
	a.then(next...)
	if !a.json {
		return a.inOnePiece(text)
	}
	return a.encode(func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(value)
	})
}

// inOnePiece prints what write writes line by line, with as few calls of the
// system as that takes.
func (a *app) inOnePiece(write func(io.Writer) error) error {
	b := bufio.NewWriter(a.stdout)
	if err := write(table.Narrow(b, a.columns())); err != nil {
		_ = b.Flush() // what there is; its own error would be the same
		return err
	}
	return b.Flush()
}

// columns is how wide tables may be: as wide as the terminal; 0, without limit, where standard output is none, or with --wide.
func (a *app) columns() int {
	if a.wide {
		return 0
	}
	width, _ := a.terminal()
	return width
}

// terminal is how wide the terminal is that standard output is, or is to be by COLUMNS.
func (a *app) terminal() (width int, is bool) {
	f, ok := a.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n, true
	}
	width, _, _ = term.GetSize(int(f.Fd()))
	return width, true
}

// say tells a person what is going on, on standard error.
func (a *app) say(format string, args ...any) {
	a.wipe()
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// options are those of a session in the workspace that was named.
func (a *app) options() session.Options {
	return session.Options{Dir: a.dir, Engine: a.engine, Log: a.log, Say: a.say}
}

// open opens the workspace and its store.
func (a *app) open() (*session.Session, error) { return session.Open(a.options()) }

// look is open for who only reads.
func (a *app) look() (*session.Session, error) { return session.Look(a.options()) }

// openRun is open for who steers.
func (a *app) openRun() (*session.Session, error) { return act.OpenRun(a.options()) }
