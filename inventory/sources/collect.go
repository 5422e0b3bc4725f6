package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/inventory/claims"
	"stowage/mysql"
)

// World is what sources are read with.
type World struct {
	Dir   string // of the workspace
	State string // where the last claims are kept; "" keeps nothing
	Farm  *farm.Farm
	Line  func(path string) int // of farm.yaml
	// Open makes a server to ask; nil: the source live is stale, as Closed says.
	Open   func(farm.InstanceName, string) *mysql.Server
	Closed error
	// Backups are what the source backups is made of.
	Backups []catalogue.Backup
	Tell    func(text string) // progress; may be nil
}

// Collect reads all sources. One that cannot be read is stale, and stands
// there with its last claims; only an interruption is an error.
func Collect(ctx context.Context, w World, specs []claims.Spec) (*claims.Set, []claims.Fault, error) {
	set := new(claims.Set)
	ours := &reader{spec: claims.Spec{Name: "farm", Kind: "farm", Path: "farm.yaml"}, dir: w.Dir}
	ours.ofFarm(w.Farm, w.Line)
	if info, err := os.Stat(w.Dir + "/farm.yaml"); err == nil {
		ours.at = info.ModTime()
	}
	faults := []claims.Fault{}
	w.Line = nil // it holds all of farm.yaml, line by line
	w.put(set, ours, nil, &faults)
	spots := newSpots(w.Farm)
	remote := make([]*reader, len(specs))
	failed := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, spec := range specs {
		if spec.Kind == "exec" || spec.Kind == "prometheus" {
			remote[i] = &reader{spec: spec, dir: w.Dir}
			wg.Go(func() { failed[i] = remote[i].read(ctx) })
		}
	}
	var live []claims.Spec
	for _, spec := range specs {
		switch spec.Kind {
		case "exec", "prometheus":
		case "backups":
			spec.CopyOf = cmp.Or(spec.CopyOf, "farm") // which pairs there are it does not know
			r := &reader{spec: spec, dir: w.Dir}
			r.backups(w.Farm, w.Backups)
			w.put(set, r, nil, &faults)
		case "live":
			live = append(live, spec) // when it is known whom to ask
		default:
			r := &reader{spec: spec, dir: w.Dir}
			w.tell("reading " + spec.Name)
			err := r.read(ctx)
			spots.take(r.claims)
			w.put(set, r, err, &faults)
		}
	}
	wg.Wait()
	for i, r := range remote {
		if r != nil {
			spots.take(r.claims)
			w.put(set, r, failed[i], &faults)
		}
	}
	for _, spec := range live {
		r := &reader{spec: spec, dir: w.Dir}
		err := w.Closed
		if w.Open != nil {
			addresses := spots.list()
			w.tell(fmt.Sprintf("asking %s", farm.Counted(len(addresses), "server")))
			err = r.crawl(ctx, addresses, w.Open)
		} else if err == nil {
			err = errors.New("nobody logs in")
		}
		w.put(set, r, err, &faults)
	}
	if err := ctx.Err(); err != nil {
		return set, faults, &farm.Error{Op: "read sources", Err: fmt.Errorf("%w: %w", farm.ErrInterrupted, err)}
	}
	return set, faults, nil
}

func (w World) tell(text string) {
	if w.Tell != nil {
		w.Tell(text)
	}
}

// read reads a source by its kind. An error says that it is down.
func (r *reader) read(ctx context.Context) error {
	switch r.spec.Kind {
	case "exec":
		return r.program(ctx)
	case "prometheus":
		return r.prometheus(ctx)
	case "ansible":
		return r.ansibleFiles()
	case "options":
		files, err := r.files()
		for _, f := range files {
			r.options(r.shown(f), f)
		}
		return err
	}
	formats := map[string]func(file string, src []byte){"csv": r.table, "tsv": r.table, "json": r.json, "yaml": r.yaml, "php": r.php, "properties": r.properties, "haproxy": r.haproxy}
	return r.eachFile(formats[r.spec.Kind])
}

// put takes the claims of a source into the set. Of one that is down, or of
// which nothing could be read, those that were kept.
func (w World) put(set *claims.Set, r *reader, err error, faults *[]claims.Fault) {
	src := claims.Source{Name: r.spec.Name, Kind: r.spec.Kind, Where: where(r.spec), At: r.at, IsLive: r.spec.Kind == "live", CopyOf: r.spec.CopyOf, Covers: r.spec.Covers, IsPart: len(r.faults) > 0 || r.why != ""}
	if src.Kind == "farm" { // of hosts a table may have those of the whole company
		src.Covers, src.CoversMore = []claims.Kind{claims.Instance, claims.Pair, claims.Shard}, true
	}
	if src.Why = r.why; len(r.faults) > 0 {
		src.Why = farm.Counted(len(r.faults)+r.more, "fault")
	}
	if r.more > 0 {
		r.faults = append(r.faults, claims.Fault{Source: r.spec.Name, Place: r.faults[0].Place, Text: fmt.Sprintf("and %d more faults in this source", r.more)})
	}
	*faults = append(*faults, r.faults...)
	list, path := r.claims, keptPath(w.State, r.spec.Name)
	switch {
	case err != nil || len(list) == 0 && (src.IsPart || !src.IsLive && r.spec.Kind != "farm"):
		src.IsStale, src.Why = true, cmp.Or(r.why, "it says nothing") // an empty file is rather one that was cut
		if len(r.faults) > 0 {
			src.Why = "no claim could be read"
		}
		if err != nil {
			src.Why = plainError(err)
		}
		if at, kept, errKept := readKept(path); w.State != "" && errKept == nil {
			list, src.At = kept, at
		} else {
			list = nil
		}
	case w.State != "" && r.spec.Kind != "farm" && len(r.faults) == 0:
		if at, n := keptAt(path); n != len(list) || !at.Equal(r.at) {
			if err := keep(path, r.at, list); err != nil {
				w.tell(fmt.Sprintf("the claims of %s cannot be kept: %s", r.spec.Name, err))
			}
		}
	}
	n, ok := set.AddSource(src)
	if !ok {
		return // inventory.yaml was read, which has fewer
	}
	set.Grow(len(list))
	for _, c := range list {
		set.Add(n, c)
	}
	r.claims = nil
}

func where(s claims.Spec) string {
	switch {
	case s.Path != "":
		return s.Path
	case s.URL != "":
		return bare(s.URL)
	case len(s.Command) > 0:
		return s.Command[0]
	}
	return s.Name
}

// plainError leaves out the path that is beside it anyway.
func plainError(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return bare(err.Error())
}

// spots are the addresses at which some source says that a server is.
type spots map[string]bool

func newSpots(f *farm.Farm) spots {
	out := spots{}
	for _, p := range f.Pairs {
		for _, side := range p.SideNames() {
			out[f.Address(p.Sides[side])] = true
		}
	}
	return out
}

// take learns of addresses with an IP and a port: a name may mean another
// machine here than there.
func (s spots) take(list []claims.Claim) {
	for _, c := range list {
		if c.Subject.Kind != claims.Instance || c.Unknown {
			continue
		}
		for _, text := range []string{c.Subject.Name, c.Value} {
			if text == c.Value && c.Attribute != "address" || !strings.Contains(text, ":") {
				continue
			}
			host, port, err := net.SplitHostPort(text)
			if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() {
				continue
			}
			if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 65536 {
				s[text] = true
			}
		}
	}
}

func (s spots) list() []string {
	out := sortedKeys(s)
	return slices.Clip(out[:min(len(out), mostServers)])
}
