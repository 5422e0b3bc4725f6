package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/replay"
	"stowage/route"
	"stowage/session"
	"stowage/workspace"
)

type replayFlags struct {
	to, against   string
	speed         string
	think         bool
	sessions      int
	duration      time.Duration
	limit         uint64
	timeout       time.Duration
	since, until  string
	filter, rules string
	functions     bool
	writes        bool
	throwAway     string
	defaults      string
	save          string
	dryRun        bool
	top           int
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE... --to INSTANCE|HOST:PORT",
		Short: "Send recorded traffic to a candidate, and compare what comes back",
		Long: `Reads slow logs, general logs and packet captures (compressed too; - for standard input)
and sends their statements to a candidate: every recorded session over a connection of its
own, at the recorded pace, --speed times as fast, or as fast as it goes (--speed max). Only
reads are sent, over connections that are READ ONLY; everything else is counted, with the
reason. Rows, errors and warnings are compared with the recording or, with --against, with
a second server that is asked the same, there also columns and values. How late statements
were sent is reported: a candidate that cannot keep up shows there first.

--writes sends writes too, to a server that is out of rotation, replicates nowhere and
carries a mark that a person made on it, by the name given with --throw-away. Without the
mark the refusal says which statements make it.

The account is read from the group [replay], else [client], of --defaults-file, of the
workspace's accounts file, or of ~/.my.cnf. For reads it needs SELECT and nothing else.
Exit code 1 when answers differ, statements failed to run, or something got slower.

` + exitHelp,
		Example: "  stowage replay slow.log --to dbshard001a --dry-run\n  stowage replay slow.log --to 10.0.0.7:3306 --against 10.0.0.6:3306 --speed 2",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if err := f.check(); err != nil {
				return usage(c, err)
			}
			return a.replay(c.Context(), given, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.to, "to", "", "the candidate: an instance of the farm, or HOST:PORT")
	fl.StringVar(&f.against, "against", "", "a second server that is asked the same reads, to compare with")
	fl.StringVar(&f.speed, "speed", "1", "times as fast as recorded, 0.5 or 2; max: as fast as it goes")
	fl.BoolVar(&f.think, "think", false, "keep the time between the statements of a session, not their time of day")
	fl.IntVar(&f.sessions, "sessions", 100, "connections at once, at most")
	fl.DurationVar(&f.duration, "for", 0, "begin no statement after so long")
	fl.Uint64Var(&f.limit, "limit", 0, "replay at most so many statements of the recording")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "how long a statement may take, beyond ten times what was recorded")
	fl.Lookup("timeout").DefValue = inHelp(f.timeout)
	fl.StringVar(&f.since, "since", "", "leave out what was recorded before this time")
	fl.StringVar(&f.until, "until", "", "leave out what was recorded at or after this time")
	fl.StringVar(&f.filter, "filter", "", "send only what this is true of, as in digest")
	fl.StringVar(&f.rules, "rules", "ptqd", "how statements become classes: ptqd or lexer")
	fl.BoolVar(&f.functions, "functions", false, "send reads that call stored functions")
	fl.BoolVar(&f.writes, "writes", false, "send writes too; needs --throw-away")
	fl.StringVar(&f.throwAway, "throw-away", "", "the name under which a person marked the candidate as one to throw away")
	fl.StringVar(&f.defaults, "defaults-file", "", "the option file with the account")
	fl.StringVar(&f.save, "save", "", "keep the digest of what was replayed: NAME in the workspace, or FILE.digest")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would be sent and what not; connect nowhere")
	fl.IntVar(&f.top, "top", 10, "lines of a kind to print; 0: all")
	return cmd
}

// check finds flags that do not go together.
func (f *replayFlags) check() error {
	switch {
	case f.to == "" && !f.dryRun:
		return errors.New("--to is missing: an instance of the farm, or HOST:PORT")
	case f.writes && f.against != "":
		return errors.New("--against compares reads, and after the first write two servers differ: leave out --writes")
	case f.writes && f.throwAway == "":
		return errors.New("--writes needs --throw-away NAME, the name under which a person marked the candidate")
	case f.throwAway != "" && !f.writes:
		return errors.New("--throw-away is for --writes")
	case f.sessions < 1:
		return errors.New("--sessions wants 1 or more")
	case f.to != "" && f.to == f.against:
		return errors.New("--to and --against are one server")
	}
	_, err := f.pace()
	return err
}

func (f *replayFlags) pace() (float64, error) {
	if f.speed == "max" {
		if f.think {
			return 0, errors.New("--speed max leaves out think times: leave out --think")
		}
		return 0, nil
	}
	v, err := strconv.ParseFloat(f.speed, 64)
	if err != nil || !(v > 0) || v > 1e6 {
		return 0, fmt.Errorf("--speed %q is neither max nor a number above 0", f.speed)
	}
	return v, nil
}

func (a *app) replay(ctx context.Context, given []string, f replayFlags) error {
	o, err := f.options(ctx, given)
	if err != nil {
		return err
	}
	if f.dryRun {
		out, err := replay.DryRun(ctx, o)
		return a.replayed(out, f, err)
	}
	r := &ring{f: f}
	if err := r.find(a); err != nil {
		return err
	}
	candidate, err := r.server(a, f.to)
	if err != nil {
		return err
	}
	defer candidate.Close()
	var original *mysql.Server
	if f.against != "" {
		if original, err = r.server(a, f.against); err != nil {
			return err
		}
		defer original.Close()
	}
	o.Candidate, o.Original = replay.Doors(candidate, original, f.writes)
	r.warn(ctx, a, candidate, original)
	ended := func(error) {}
	if f.writes {
		o.Guard = r.guard(a, candidate).Check
		if ctx, ended, err = a.writeDown(ctx, r, given); err != nil {
			return err
		}
	}
	o.Progress = func(p replay.Progress) {
		a.say("%s  %d sent, %s, %d different, late %s", p.Elapsed.Round(time.Second), p.Sent, farm.Counted(p.Errors, "error"), p.Different, p.Late.Round(time.Millisecond))
	}
	out, err := replay.Run(ctx, o)
	ended(err)
	if out != nil {
		out.Candidate = candidate.Address()
		if original != nil {
			out.Original = original.Address()
		}
	}
	return a.replayed(out, f, err)
}

// replayed shows and keeps what came of it, also when it ended early.
func (a *app) replayed(out *replay.Outcome, f replayFlags, ended error) error {
	if out == nil {
		return ended
	}
	if f.save != "" && out.Digest != nil && out.Digest.Events() > 0 {
		if err := a.saveDigest(f.save, out.Digest); err != nil {
			return errors.Join(ended, err)
		}
	}
	if err := a.emit(out, func(w io.Writer) error { return replay.WriteText(w, out, f.top) }, f.next(a)...); err != nil {
		return err
	}
	if ended == nil && out.HasFindings() {
		return farm.ErrFindings
	}
	return ended
}

// next: what was kept is looked at; a dry run is carried out; reads can be sent once more, and kept.
func (f replayFlags) next(a *app) []string {
	switch {
	case f.dryRun && f.to != "":
		return []string{a.forReal()}
	case f.save != "":
		return a.afterSave(f.save)
	case !f.dryRun && !f.writes && !slices.Contains(a.args, "-"):
		return []string{a.again(nil, "--save", "replay.digest")}
	}
	return nil
}

// options are what the flags and files ask for.
func (f replayFlags) options(ctx context.Context, given []string) (replay.Options, error) {
	d, err := digestFlags{rules: f.rules, since: f.since, until: f.until, filter: f.filter}.options()
	if err != nil {
		return replay.Options{}, err
	}
	speed, _ := f.pace() // checked already
	o := replay.Options{
		Digest: d, Allow: replay.Allowance{Functions: f.functions, Writes: f.writes}, Speed: speed, Think: f.think, Sessions: f.sessions,
		For: f.duration, Limit: f.limit, Timeout: f.timeout,
	}
	files, err := expand(given)
	if err != nil {
		return o, err
	}
	for _, name := range files {
		if name == "-" {
			o.Inputs = append(o.Inputs, replay.Input{Name: name, Open: func() (io.ReadCloser, error) { return safefile.Stream(ctx, os.Stdin), nil }})
			continue
		}
		o.Inputs = append(o.Inputs, replay.Input{Name: name, Open: func() (io.ReadCloser, error) { return safefile.OpenStream(ctx, name) }})
	}
	return o, nil
}

// ring is what is around the candidate: the workspace, if there is one, and
// the account.
type ring struct {
	f         replayFlags
	workspace *workspace.Workspace
	farm      *farm.Farm
	account   mysql.Account
}

// find opens the workspace and reads the account.
func (r *ring) find(a *app) error {
	ws, err := workspace.Open(a.dir)
	if err == nil {
		if r.farm, err = ws.Farm(); err != nil {
			return err
		}
		r.workspace = ws
	}
	var files []string
	switch home, homeErr := os.UserHomeDir(); {
	case r.f.defaults != "":
		files = []string{r.f.defaults}
	case r.workspace != nil && r.farm.Accounts != "":
		files = []string{r.workspace.Path(r.farm.Accounts)}
	case homeErr == nil:
		files = []string{filepath.Join(home, ".my.cnf")}
	}
	for _, file := range files {
		for _, group := range []string{"replay", "client"} {
			if r.account, err = mysql.ReadAccount(file, group); err == nil {
				r.account = session.NamedIn(r.farm, r.account)
				return nil
			}
			if !errors.Is(err, mysql.ErrNoGroup) && !errors.Is(err, fs.ErrNotExist) {
				return err // a file that others may read, say: its remedy is another
			}
		}
	}
	if err == nil {
		err = errors.New("no option file")
	}
	return &farm.Error{Op: "read account", Subject: fmt.Sprint(files), Err: fmt.Errorf("%w: neither a group [replay] nor [client] with a user: %w", farm.ErrInput, err),
		Hint: "write [replay] with user= and password= there; the account needs SELECT and nothing else"}
}

// server is the instance of a name, or what is at an address.
func (r *ring) server(a *app, target string) (*mysql.Server, error) {
	if r.farm != nil {
		for address, name := range r.instances() {
			if string(name) == target {
				return mysql.Open(name, address, r.account, a.log), nil
			}
		}
	}
	if host, port, err := net.SplitHostPort(target); err == nil && host != "" && port != "" {
		return mysql.Open(farm.InstanceName(target), target, r.account, a.log), nil
	}
	hint := "name one as HOST:PORT, or run in the directory with the farm.yaml"
	if r.farm != nil {
		hint = "stowage inventory shows the instances; any other server is named as HOST:PORT"
	}
	return nil, &farm.Error{Op: "find server", Subject: target, Err: fmt.Errorf("%w: no instance of that name", farm.ErrInput), Hint: hint}
}

// instances are those of the farm, by address.
func (r *ring) instances() map[string]farm.InstanceName {
	out := map[string]farm.InstanceName{}
	if r.farm == nil {
		return out
	}
	hosts := map[farm.HostName]string{}
	for _, h := range r.farm.Hosts {
		hosts[h.Name] = h.Address
	}
	for _, p := range r.farm.Pairs {
		for name, side := range p.Sides {
			out[net.JoinHostPort(hosts[side.Host], strconv.Itoa(side.Port))] = p.Instance(name)
		}
	}
	return out
}

// guard is who decides about writes.
func (r *ring) guard(a *app, candidate *mysql.Server) *replay.Guard {
	g := &replay.Guard{Server: candidate, Name: r.f.throwAway, Instances: r.instances()}
	if r.workspace == nil {
		return g
	}
	g.HasTable, g.Table = r.table(a)
	g.Identify = func(ctx context.Context, address string) (traffic.Identity, error) {
		s := mysql.Open(farm.InstanceName(address), address, r.account, a.log)
		defer s.Close()
		return traffic.IdentityOf(ctx, s)
	}
	return g
}

// table reads who is in rotation. A workspace without routing.json has no
// table; one that says that its table is elsewhere has one, reachable or not.
func (r *ring) table(a *app) (has bool, read func(context.Context) (*route.Table, error)) {
	router, err := session.Of(r.workspace, r.farm, nil, a.options()).Routing()
	if err != nil {
		return true, func(context.Context) (*route.Table, error) { return nil, err }
	}
	if kind := r.farm.Routing.Kind; kind == "" || kind == farm.RoutingFile {
		_, err := os.Stat(r.workspace.Path("routing.json"))
		return !errors.Is(err, os.ErrNotExist), router.Read
	}
	return true, router.Read
}

// warn tells of load on servers that clients are sent to.
func (r *ring) warn(ctx context.Context, a *app, servers ...*mysql.Server) {
	if r.workspace == nil {
		return
	}
	_, read := r.table(a)
	t, err := read(ctx)
	if err != nil {
		return
	}
	for _, s := range servers {
		for pair, p := range t.Pairs {
			for side, x := range p.Sides {
				if s != nil && x.Address == s.Address() {
					a.say("note: %s is in rotation (side %s of %s); its clients will feel the reads", s.Name(), side, pair)
				}
			}
		}
	}
}
