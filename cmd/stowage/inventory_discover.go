package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/safefile"
	"stowage/inventory"
	"stowage/inventory/discover"
	"stowage/mysql"
	"stowage/workspace"
)

type discoverFlags struct {
	accounts string
	from     string
	output   string
	follow   bool
}

func (a *app) discoverCommand() *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover [ADDRESS[:PORT]]...",
		Short: "Draft the first farm.yaml of servers that run",
		Long: `Asks the servers named for what they are and whom they replicate from, and writes
a draft of farm.yaml: hosts, pairs, shards with their sizes, and server ids. Two that
replicate from each other are an active-active pair, one that others replicate from
is a primary with replicas, one alone is single. What fits none of these (a chain, a
ring of three, several sources) is not guessed: it is named, with what to do.

Logs in with the account of group [stowage] in the accounts file. Reads only. A
farm.yaml that is there is never overwritten. What servers cannot know (cores, disks,
prices) is marked FILL IN. Exit code 1 when a server did not answer, or something was
not understood; the draft then holds the rest.

` + exitHelp,
		Example: "  stowage inventory discover db001 db002:3307\n  stowage inventory discover --from servers.txt --follow\n" +
			"  stowage inventory discover db001 --follow -o - | diff farm.yaml -",
		RunE: func(c *cobra.Command, given []string) error { return a.discover(c, given, f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.accounts, "accounts", "", "the option file with the accounts (default: accounts.cnf of the workspace)")
	fs.StringVar(&f.from, "from", "", "a file with addresses, one a line; # begins a comment")
	fs.StringVarP(&f.output, "output", "o", "", "the file to write; - is standard output (default: farm.yaml of the workspace)")
	fs.BoolVar(&f.follow, "follow", false, "also ask the servers that these replicate with")
	return cmd
}

// discovered is what `stowage inventory discover --json` prints.
type discovered struct {
	discover.Found
	File   string `json:"file,omitempty"` // that was written
	FillIn []int  `json:"fill_in,omitempty"`
	Faults string `json:"faults,omitempty"` // why it cannot be read before that

	accounts      string
	noReplication error
}

func (a *app) discover(c *cobra.Command, given []string, f discoverFlags) error {
	addresses, err := f.addresses(c.Context(), given)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return usage(c, errors.New("no address given: name one server, and --follow leads to those it replicates with"))
	}
	if f.output == "-" && a.json {
		return usage(c, errors.New("-o - and --json both want standard output"))
	}
	path, accounts := f.output, f.accounts
	if path == "" {
		path = filepath.Join(a.dir, "farm.yaml")
	}
	if accounts == "" {
		accounts = filepath.Join(a.dir, "accounts.cnf")
	}
	if path != "-" { // before anybody is asked
		if _, err := os.Lstat(path); err == nil {
			return workspace.FarmIsThere(path)
		}
	}
	found, err := a.askAll(c.Context(), addresses, accounts, f.follow)
	if err != nil {
		return err
	}
	return a.draft(found, path, accounts)
}

// addresses are those of the command line and of --from, each once.
func (f discoverFlags) addresses(ctx context.Context, given []string) ([]string, error) {
	var out []string
	for _, text := range given {
		address, err := discover.ParseAddress(text)
		if err != nil {
			return nil, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage inventory discover --help"}
		}
		out = append(out, address)
	}
	if f.from != "" {
		file, err := safefile.OpenStream(ctx, f.from)
		if err != nil {
			var cause *fs.PathError
			if errors.As(err, &cause) {
				err = cause.Err
			}
			return nil, &farm.Error{Op: "read addresses", Subject: f.from, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a file with one HOST or HOST:PORT a line"}
		}
		defer file.Close()
		listed, err := discover.ReadAddresses(f.from, file)
		if ctx.Err() != nil {
			return nil, &farm.Error{Op: "read addresses", Subject: f.from, Err: farm.ErrInterrupted}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, listed...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// askAll asks and derives. The accounts file is looked at as all other verbs
// will: one that lacks what they need is better known now.
func (a *app) askAll(ctx context.Context, addresses []string, accounts string, follow bool) (discovered, error) {
	admin, err := mysql.ReadAccount(accounts, "stowage")
	if err != nil && !errors.Is(err, mysql.ErrNoGroup) && !errors.Is(err, fs.ErrNotExist) {
		return discovered{}, err
	}
	if err != nil {
		return discovered{}, &farm.Error{Op: "log in", Err: err,
			Hint: "write an option file with groups [stowage] and [replication], each with user= and password=, and name it with --accounts; docs/reference/privileges.md has the grants"}
	}
	_, noReplication := mysql.ReadAccount(accounts, "replication")
	servers, err := discover.Ask(ctx, discover.Question{Addresses: addresses, Follow: follow,
		Open: func(name farm.InstanceName, address string) *mysql.Server {
			return mysql.Open(name, address, admin, a.log)
		},
		Tell: func(text string) { a.say("%s", text) },
		Starts: func(ctx context.Context, s discover.Server) (config, suffix string, ok bool) {
			return host.Started(ctx, s.Address, s.Hostname, s.Datadir)
		}})
	if err != nil {
		return discovered{}, &farm.Error{Op: "ask servers", Err: err}
	}
	return discovered{Found: discover.Derive(servers), accounts: accounts, noReplication: noReplication}, nil
}

// draft writes the file and says what was found, and what comes next.
func (a *app) draft(d discovered, path, accounts string) error {
	f, remarks := d.Farm(besides(path, accounts))
	text, faults := workspace.DraftFarm(filepath.Base(path), f, remarks)
	for n, line := range bytes.Split(text, []byte("\n")) {
		if bytes.Contains(line, []byte("# "+discover.FillIn+": ")) {
			d.FillIn = append(d.FillIn, n+1)
		}
	}
	if faults != nil {
		d.Faults = faults.Error()
	}
	switch {
	case len(d.Pairs) == 0: // an empty draft would only be in the way of the next
	case path == "-":
		if _, err := a.stdout.Write(text); err != nil {
			return err
		}
	default:
		if err := workspace.CreateFarm(path, text); err != nil {
			return err
		}
		d.File = path
	}
	var err error
	if path == "-" {
		err = d.findings(a.stderr)
	} else {
		err = a.emit(d, d.writeText, inWorkspace(filepath.Dir(path), "stowage doctor"), inWorkspace(filepath.Dir(path), "stowage inventory"))
	}
	if err == nil && (len(d.NotUnderstood) > 0 || faults != nil) {
		return farm.ErrFindings
	}
	return err
}

// besides is a file as farm.yaml names it: relative to its own directory where
// it is in there.
func besides(path, file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return abs
	}
	if rel, err := filepath.Rel(dir, abs); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return abs
}

func (d discovered) writeText(w io.Writer) error {
	if err := d.Found.WriteText(w); err != nil {
		return err
	}
	if err := d.findings(w); err != nil {
		return err
	}
	if d.File == "" {
		_, err := fmt.Fprintln(w, "\nnothing was written: there is no pair to write down. Follow the arrows above, and ask again")
		return err
	}
	fmt.Fprintf(w, "\nwrote %s, a draft to complete:\n", d.File)
	fmt.Fprintf(w, "  fill in what says %s: %s\n", discover.FillIn, lines(d.FillIn))
	if d.Faults != "" {
		fmt.Fprintf(w, "  it cannot be read before that: %s\n", d.Faults)
	}
	if d.noReplication != nil {
		fmt.Fprintf(w, "  add the group [replication] to %s, the account that replicas log in with: inventory wants it, too\n", d.accounts)
	}
	if len(d.NotUnderstood) > 0 {
		fmt.Fprintf(w, "  follow the arrows above; to draft again, move %s away: it is never overwritten\n", filepath.Base(d.File))
	}
	if filepath.Base(d.File) != "farm.yaml" {
		fmt.Fprintln(w, "  call it farm.yaml in a workspace: that is what other commands read")
	}
	_, err := fmt.Fprintln(w, "  add the hosts to pack onto; stowage plan needs them")
	return err
}

// findings are what was not understood, and what is worth knowing.
func (d discovered) findings(w io.Writer) error {
	all := append(slices.Clone(d.NotUnderstood), d.Notes...)
	if len(all) == 0 {
		return nil
	}
	return inventory.WriteFindings(w, all)
}

func lines(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, fmt.Sprint(n))
	}
	if len(out) == 1 {
		return "line " + out[0]
	}
	return "lines " + strings.Join(out, ", ")
}
