package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/store"
	"stowage/workspace"
)

type digestFlags struct {
	since, until  string
	rules, group  string
	filter, order string
	save          string
	top           int
	live          []*digest.Digest // of running servers, read already
	topGiven      bool
	csv, sql      bool
	html          string
	anonymize     bool
	follow        bool
	explain       string // an instance
	account       string // option file
	plans         map[string]*digest.Plan
	tables        string // of sql
	limit         string
	percentiles   []string
}

func (a *app) digestCommand() *cobra.Command {
	var f digestFlags
	var lf liveFlags
	cmd := &cobra.Command{
		Use:   "digest FILE...",
		Short: "Sum up what databases were asked to do, from their logs and captures",
		Long: `Reads slow logs, general logs and packet captures (files, directories, or - for
standard input; gzip, zstd and bzip2 too; recognised by content), puts statements that
differ only in their values into one class, and prints the classes by the time they
took. --save keeps the digest: in a file when the name ends in .digest, else under
that name in the workspace. A saved digest can be given back as FILE.

--rules ptqd gives the IDs DBAs have in their history; lexer reads SQL as the server
does and folds shard numbers in names. --filter takes an expression such as
  user = app and query_time > 100ms and not full_scan

` + liveHelp + "\n\n" + exitHelp,
		Example: "  stowage digest /var/log/mysql/slow.log\n  stowage digest --since 2026-11-21T10:00:00Z --save before hosts/*/*/slow.log\n  stowage digest compare before after",
		Args:    lf.inputs,
		RunE: func(c *cobra.Command, given []string) error {
			if (f.csv || f.sql) && a.json || f.csv && f.sql {
				return usage(c, errors.New("--csv, --sql and --json cannot be combined"))
			}
			if f.anonymize && f.save != "" {
				return usage(c, errors.New("--save keeps values, users and hosts, also with --anonymize: save first, then show it with: stowage digest NAME --anonymize"))
			}
			if f.follow {
				if len(given) != 1 || len(lf.instances) > 0 || f.csv || f.sql || a.json {
					return usage(c, errors.New("--follow takes one log, and cannot be combined with --instance, --csv, --sql or --json"))
				}
				return a.follow(c.Context(), given[0], lf.every, f)
			}
			defer boundMemory(digestMemory)()
			var err error
			if f.live, err = a.readLive(c.Context(), lf, f); err != nil {
				return err
			}
			d, err := a.digest(c.Context(), given, f)
			if err != nil {
				return err
			}
			f.topGiven = c.Flags().Changed("top")
			if f.account = lf.account; f.explain != "" {
				if f.plans, err = a.explained(c.Context(), d, f); err != nil {
					return err
				}
			}
			if f.html != "" {
				if err := a.writeDigestHTML(d, f); err != nil {
					return err
				}
			}
			return a.printDigest(d, f)
		},
	}
	cmd.Flags().StringVar(&f.rules, "rules", "ptqd", "how statements become fingerprints: ptqd or lexer")
	cmd.Flags().StringVar(&f.group, "group-by", "fingerprint", "fingerprint, table, user, host, db or shard")
	cmd.Flags().StringVar(&f.filter, "filter", "", "count only events for which this is true")
	cmd.Flags().StringVar(&f.order, "order", "", "order classes by: "+strings.Join(digest.OrderNames(), ", "))
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print one line a class, for a spreadsheet")
	cmd.Flags().StringVar(&f.html, "html", "", "also write a self-contained HTML page to this `FILE`")
	cmd.Flags().BoolVar(&f.anonymize, "anonymize", false, "leave out values, users, hosts and the names of inputs")
	cmd.Flags().BoolVar(&f.follow, "follow", false, "show what is added to a slow log, redrawn every --every, until Ctrl-C")
	cmd.Flags().StringVar(&f.explain, "explain", "", "ask this `INSTANCE` for the plans of the printed classes; best a replica, or the side with more room")
	cmd.Flags().BoolVar(&f.sql, "sql", false, "print statements that fill the review and history tables of pt-query-digest, for Anemometer")
	cmd.Flags().StringVar(&f.tables, "sql-tables", "query_review,query_history", "the names of these tables, for --sql")
	cmd.Flags().StringSliceVar(&f.percentiles, "percentiles", nil, "also show these quantiles: 90,99.9")
	cmd.Flags().StringVar(&f.limit, "limit", "", "print the heaviest classes: up to this share of the query time (95%), this many (20), or whichever is less (95%:20)")
	cmd.Flags().StringVar(&f.since, "since", "", "leave out events before this time (RFC 3339, 2026-11-21 10:00:00 in UTC, or 1h or 2d ago)")
	cmd.Flags().StringVar(&f.until, "until", "", "leave out events at or after this time")
	cmd.Flags().StringVar(&f.save, "save", "", "keep the digest: NAME in the workspace, or FILE.digest")
	cmd.Flags().IntVar(&f.top, "top", 10, "classes to print; 0: all, and so do --json and --csv unless this is given")
	lf.add(cmd)
	cmd.AddCommand(a.compareCommand())
	cmd.AddCommand(a.historyCommand(), a.digestFarmCommand(), a.importCommand())
	a.addRecord(cmd)
	return cmd
}

// printDigest prints the classes that were asked for, as they were asked for.
func (a *app) printDigest(d *digest.Digest, f digestFlags) error {
	l := d.Listing() // not the whole Report: that is as large as the digest
	if f.order != "" {
		if err := l.OrderBy(f.order); err != nil {
			return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
		}
	}
	l.Plans(f.plans)
	if f.anonymize {
		l.Anonymize()
	}
	if err := f.cut(l, a.json); err != nil {
		return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
	}
	a.then(f.next(a)...)
	print := a.inOnePiece
	if a.json {
		print = func(func(io.Writer) error) error { return a.encode(l.WriteJSON) }
	}
	err := print(func(w io.Writer) error {
		switch {
		case f.sql:
			review, history, _ := strings.Cut(f.tables, ",")
			return l.WriteReview(w, digest.ReviewTables{Review: review, History: history})
		case f.csv:
			return l.WriteCSV(w)
		}
		return l.WriteText(w, a.textOptions(f.shown()))
	})
	if err == nil {
		err = isLog(d)
	}
	if err == nil && digest.IsIncomplete(l.Head().Inputs) {
		return farm.ErrFindings
	}
	return err
}

// digestMemory is what the collector tries to keep the program below. A digest of 100,000 classes takes 90 MB; without a
// limit the collector would let it grow to twice that before it works. A comparison holds two of them, and more.
const (
	digestMemory  = 140 << 20
	compareMemory = 3 * digestMemory
)

// restingMemory is what the program may use before the collector works at all: the digest of an ordinary log never does.
const restingMemory = 48 << 20

// boundMemory sets the limit, lets the collector rest while the program is far below it, and returns what takes both back.
// What the environment has set (GOGC, GOMEMLIMIT) stays.
func boundMemory(limit int64) (back func()) {
	before := debug.SetMemoryLimit(-1)
	if before != math.MaxInt64 || os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetMemoryLimit(restingMemory)
	percent := debug.SetGCPercent(-1)
	var mu sync.Mutex
	over := false
	runtime.AddCleanup(new([64]byte), func(int) { // the collector has worked: from now on by the limit
		mu.Lock()
		defer mu.Unlock()
		if !over {
			debug.SetMemoryLimit(limit)
			debug.SetGCPercent(400)
		}
	}, 0)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
	}
}

// isLog is an error where nothing that was read looks like a log at all: a log without events is a fact, a wrong file name
// is a mistake.
func isLog(d *digest.Digest) error {
	if d.Events() > 0 {
		return nil
	}
	names := []string{}
	for _, in := range d.Listing().Head().Inputs {
		if len(in.Skipped) == 0 || in.LeftOut > 0 {
			return nil
		}
		for _, s := range in.Skipped {
			if s.Reason != digest.ReasonOutside {
				return nil
			}
		}
		names = append(names, in.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return &farm.Error{Op: "read " + strings.Join(names, ", "), Err: fmt.Errorf("%w: no line in it begins an event", farm.ErrInput),
		Hint: "give a slow log, a general log, a pcap or pcapng capture, or a saved digest; gzip, zstd and bzip2 are unpacked"}
}

// textOptions fit a report to where it goes: a terminal has a width, and colour unless its owner says NO_COLOR.
func (a *app) textOptions(top int) digest.TextOptions {
	o := digest.TextOptions{Top: top, Width: 80}
	if top == 0 {
		o.Top = -1
	}
	if width, is := a.terminal(); is {
		o.Width = width
		o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// options are what the flags ask of a digest.
func (f digestFlags) options() (digest.Options, error) {
	o := digest.Options{Rules: digest.RuleSet(f.rules), GroupBy: digest.GroupBy(f.group), Workers: runtime.GOMAXPROCS(0)}
	var err error
	if o.Since, err = parseTime("--since", f.since); err != nil {
		return o, err
	}
	if o.Until, err = parseTime("--until", f.until); err != nil {
		return o, err
	}
	if f.filter != "" {
		if o.Filter, err = digest.ParseFilter(f.filter); err != nil {
			return o, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help shows an expression"}
		}
	}
	if err := o.Check(); err != nil {
		return o, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
	}
	return o, nil
}

// digest reads logs and keeps the result when asked to.
func (a *app) digest(ctx context.Context, inputs []string, f digestFlags) (*digest.Digest, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	files, err := expand(inputs)
	if err != nil {
		return nil, err
	}
	b := digest.New(o)
	var stored []*digest.Digest
	for i, name := range files {
		done := a.doing("reading %s, %d of %s", name, i+1, farm.Counted(len(files), "file"))
		d, err := a.readInput(ctx, b, name)
		done()
		if err != nil {
			return nil, err
		}
		if d != nil {
			stored = append(stored, d)
		}
	}
	d := b.Digest()
	for _, s := range append(stored, f.live...) {
		if err := d.Merge(s); err != nil {
			return nil, &farm.Error{Op: "merge digests", Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
		}
	}
	if f.save == "" {
		return d, nil
	}
	if err := isLog(d); err != nil {
		return nil, err // an empty digest under that name would be compared some day
	}
	return d, a.saveDigest(f.save, d)
}

// expand turns directories into the files in them.
func expand(inputs []string) ([]string, error) {
	var out []string
	for _, in := range inputs {
		st, err := os.Stat(in)
		if err != nil || !st.IsDir() {
			out = append(out, in) // a saved name, standard input, a file, or nothing: reading will tell
			continue
		}
		entries, err := os.ReadDir(in)
		if err != nil {
			return nil, &farm.Error{Op: "read directory", Subject: in, Err: err}
		}
		before := len(out)
		for _, e := range entries {
			if e.Type().IsRegular() {
				out = append(out, filepath.Join(in, e.Name()))
			}
		}
		if len(out) == before {
			return nil, &farm.Error{Op: "read directory", Subject: in, Err: fmt.Errorf("%w: there are no files in it", farm.ErrInput),
				Hint: "name the logs, or the directory that holds them"}
		}
	}
	sort.Strings(out)
	return out, nil
}

// readInput adds one input to b, or returns it when it is a stored digest.
func (a *app) readInput(ctx context.Context, b *digest.Builder, name string) (*digest.Digest, error) {
	file := safefile.Stream(ctx, os.Stdin)
	if name != "-" {
		var err error
		file, err = safefile.OpenStream(ctx, name)
		if errors.Is(err, os.ErrNotExist) {
			return a.savedDigest(name)
		}
		if err != nil {
			return nil, &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
		}
		defer file.Close()
	}
	head, r := peek(file)
	if digest.IsStored(head) {
		d, err := digest.Decode(r)
		if ctx.Err() != nil {
			return nil, &farm.Error{Op: "read digest", Subject: name, Err: farm.ErrInterrupted}
		}
		if err != nil {
			return nil, &farm.Error{Op: "read digest", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
				Hint: "make it again from the logs: stowage digest --save " + name + " FILE..."}
		}
		return d, nil
	}
	err := b.Read(name, r)
	if ctx.Err() != nil {
		return nil, &farm.Error{Op: "digest", Subject: name, Err: farm.ErrInterrupted}
	}
	if err != nil {
		return nil, &farm.Error{Op: "digest", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return nil, nil
}

// peek looks at the beginning of a file and returns what it is to be read from: the file itself where that is possible,
// because it can be read at several places at once.
func peek(in io.Reader) (head []byte, r io.Reader) {
	if file, ok := in.(*os.File); ok {
		if at, err := file.Seek(0, io.SeekCurrent); err == nil {
			head = make([]byte, 64)
			if n, err := file.ReadAt(head, at); err == nil || err == io.EOF { // a short file has a short head
				return head[:n], file
			}
		}
	}
	buffered := bufio.NewReaderSize(in, 64<<10)
	head, _ = buffered.Peek(64)
	return head, buffered
}

// savedDigest finds a digest kept in the workspace.
func (a *app) savedDigest(name string) (*digest.Digest, error) {
	hint := "keep one with: stowage digest --save " + name + " FILE..."
	if strings.ContainsAny(name, "./") {
		hint = "check the path"
	}
	missing := &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: no such file, and no digest of that name is kept in the workspace", farm.ErrInput),
		Hint: hint}
	ws, err := workspace.Open(a.dir)
	if err != nil {
		return nil, missing
	}
	s, err := store.Open(filepath.Join(ws.State(), "stowage.db"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var raw []byte
	if _, err := s.LatestDocument("digest", name, &raw); err != nil {
		return nil, missing
	}
	return digest.Decode(bytes.NewReader(raw))
}

// isDigestFile says whether --save names a file rather than a name of the workspace.
func isDigestFile(name string) bool { return filepath.Ext(name) == ".digest" }

func (a *app) saveDigest(name string, d *digest.Digest) error {
	var b bytes.Buffer
	if err := d.Encode(&b); err != nil {
		return err
	}
	if isDigestFile(name) {
		return write(name, b.Bytes())
	}
	desk, err := a.open()
	if err != nil {
		return err
	}
	defer desk.Close()
	return desk.Store.PutDocument("digest", name, time.Now(), b.Bytes())
}
