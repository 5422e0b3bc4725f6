package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
	"stowage/store"
	"stowage/workspace"
)

type digestFlags struct {
	since, until  string
	rules, group  string
	filter, order string
	save          string
	top           int
	csv           bool
}

func (a *app) digestCommand() *cobra.Command {
	var f digestFlags
	cmd := &cobra.Command{
		Use:   "digest FILE...",
		Short: "Sum up what databases were asked to do, from their logs and captures",
		Long: `Reads slow logs, general logs and packet captures (files, directories, or - for
standard input; gzip, zstd and bzip2 too; told apart by content), puts statements that
differ only in their values into one class, and prints the classes by the time they
took. --save keeps the digest: in a file when the name ends in .digest, else under
that name in the workspace. A saved digest can be given back as FILE.

--rules ptqd gives the IDs DBAs have in their history; lexer reads SQL as the server
does and folds shard numbers in names. --filter takes an expression such as
  user = app and query_time > 100ms and not full_scan

` + exitHelp,
		Example: "  stowage digest /var/log/mysql/slow.log\n  stowage digest --since 2026-11-21T10:00:00Z --save before hosts/*/*/slow.log\n  stowage digest compare before after",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if f.csv && a.json {
				return usage(c, errors.New("--csv and --json are two formats"))
			}
			d, err := a.digest(given, f)
			if err != nil {
				return err
			}
			return a.printDigest(d, f)
		},
	}
	cmd.Flags().StringVar(&f.rules, "rules", "ptqd", "how statements become fingerprints: ptqd or lexer")
	cmd.Flags().StringVar(&f.group, "group-by", "fingerprint", "fingerprint, table, user, host, db or shard")
	cmd.Flags().StringVar(&f.filter, "filter", "", "count only events for which this is true")
	cmd.Flags().StringVar(&f.order, "order", "", "order classes by: "+strings.Join(digest.OrderNames(), ", "))
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print one line a class, for a spreadsheet")
	cmd.Flags().StringVar(&f.since, "since", "", "leave out events before this time (RFC 3339, or 2026-11-21 10:00:00 in UTC)")
	cmd.Flags().StringVar(&f.until, "until", "", "leave out events at or after this time")
	cmd.Flags().StringVar(&f.save, "save", "", "keep the digest: NAME in the workspace, or FILE.digest")
	cmd.Flags().IntVar(&f.top, "top", 10, "classes to print; 0: all")
	cmd.AddCommand(&cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say class by class what got faster or slower, and how sure that is",
		Long: `Compares two digests (saved names, .digest files, or slow logs): per class faster,
slower, unchanged or inconclusive, with intervals; what all classes have in common
(another host, another load) is reported apart. Exit code 1 when something got slower.

` + exitHelp,
		Example: "  stowage digest compare before after",
		Args:    args(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, given []string) error {
			c, err := a.compare(given[0], given[1])
			if err != nil {
				return err
			}
			if err := a.emit(c, func(w io.Writer) error { return digest.WriteCompareText(w, c, digest.TextOptions{}) }); err != nil {
				return err
			}
			if c.GotSlower() {
				return farm.ErrFindings
			}
			return nil
		},
	})
	return cmd
}

// printDigest prints the classes that were asked for, as they were asked for.
func (a *app) printDigest(d *digest.Digest, f digestFlags) error {
	r := d.Report()
	if f.order != "" {
		if err := r.OrderBy(f.order); err != nil {
			return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
		}
	}
	if f.csv {
		r.Top(f.top)
		return digest.WriteCSV(a.stdout, r)
	}
	return a.emit(r, func(w io.Writer) error { return digest.WriteText(w, r, digest.TextOptions{Top: f.top}) })
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
func (a *app) digest(inputs []string, f digestFlags) (*digest.Digest, error) {
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
	for _, name := range files {
		d, err := a.readInput(b, name)
		if err != nil {
			return nil, err
		}
		if d != nil {
			stored = append(stored, d)
		}
	}
	d := b.Digest()
	for _, s := range stored {
		if err := d.Merge(s); err != nil {
			return nil, &farm.Error{Op: "merge digests", Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
		}
	}
	if f.save == "" {
		return d, nil
	}
	return d, a.saveDigest(f.save, d)
}

func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %s %q is no time", farm.ErrInput, flag, text),
		Hint: "write it as 2026-11-21T10:00:00Z"}
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
func (a *app) readInput(b *digest.Builder, name string) (*digest.Digest, error) {
	var r io.Reader = os.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return a.savedDigest(name)
		}
		if err != nil {
			return nil, &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
		}
		defer file.Close()
		r = file
	}
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, _ := buffered.Peek(64) // a short file has a short head
	if digest.IsStored(head) {
		d, err := digest.Decode(buffered)
		if err != nil {
			return nil, &farm.Error{Op: "read digest", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
				Hint: "make it again from the logs: stowage digest --save " + name + " FILE..."}
		}
		return d, nil
	}
	if err := b.Read(name, buffered); err != nil {
		return nil, &farm.Error{Op: "digest", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return nil, nil
}

// savedDigest finds a digest kept in the workspace.
func (a *app) savedDigest(name string) (*digest.Digest, error) {
	missing := &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: no such file, and no digest of that name is kept in the workspace", farm.ErrInput),
		Hint: "keep one with: stowage digest --save " + name + " FILE..."}
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

func (a *app) saveDigest(name string, d *digest.Digest) error {
	var b bytes.Buffer
	if err := d.Encode(&b); err != nil {
		return err
	}
	if filepath.Ext(name) == ".digest" {
		return write(name, b.Bytes())
	}
	desk, err := a.open()
	if err != nil {
		return err
	}
	defer desk.close()
	return desk.store.PutDocument("digest", name, time.Now(), b.Bytes())
}

// compare compares two digests and keeps the answer, when there is a
// workspace to keep it in.
func (a *app) compare(before, after string) (digest.Comparison, error) {
	b, err := a.digest([]string{before}, digestFlags{})
	if err != nil {
		return digest.Comparison{}, err
	}
	f, err := a.digest([]string{after}, digestFlags{})
	if err != nil {
		return digest.Comparison{}, err
	}
	c := digest.Compare(b, f, digest.CompareOptions{})
	if ws, err := workspace.Open(a.dir); err == nil {
		s, err := store.Open(filepath.Join(ws.State(), "stowage.db"))
		if err != nil {
			return c, err
		}
		defer s.Close()
		return c, s.PutDocument("comparison", before+" "+after, time.Now(), c)
	}
	return c, nil
}
