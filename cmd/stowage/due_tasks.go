package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/capacity"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/session"
	"stowage/store"
)

// The kinds of documents that due keeps, one of each farm.
const (
	checkedKind  = "sources-checked"
	dueInventory = "due "
)

// dueSizes surveys the farm and keeps sizes. The whole inventory is kept, too, in the place of the one that due kept before.
func (a *app) dueSizes(ctx context.Context, d *session.Session) (found, error) {
	if err := d.Login(); err != nil {
		return found{}, err
	}
	inv, err := inventory.Survey(ctx, d.Farm, d.Server, nil)
	if err != nil {
		return found{}, err
	}
	silent := 0
	for _, i := range inv.Instances {
		if i.Error != "" {
			silent++
		}
	}
	if silent == len(inv.Instances) && silent > 0 {
		return found{}, &farm.Error{Op: "measure sizes", Err: fmt.Errorf("no server answers: %s", inv.Instances[0].Error), Hint: "stowage doctor"}
	}
	body, err := json.Marshal(inv)
	if err != nil {
		return found{}, err
	}
	f := found{findings: inv.Findings, yield: store.Yield{Documents: []store.Document{{Kind: "inventory", Name: dueInventory + d.Farm.Name, Made: inv.Taken, Body: body}}}}
	for _, s := range inventory.Sizes(d.Farm, []inventory.Inventory{inv}) {
		for _, x := range s.Samples {
			f.yield.Levels = append(f.yield.Levels, store.Level{Name: string(s.Kind) + " " + s.Name, Resource: string(s.Resource), At: x.At, Value: x.Value})
		}
	}
	f.said = fmt.Sprintf("%d of %s answered, sizes kept: %d", len(inv.Instances)-silent, farm.Counted(len(inv.Instances), "instance"), len(f.yield.Levels))
	return f, nil
}

// keptLevels are the sizes that due has kept, as series.
func keptLevels(d *session.Session) ([]capacity.Series, error) {
	levels, err := d.Store.Levels()
	if err != nil {
		return nil, err
	}
	has := subjects(d.Farm)
	var out []capacity.Series
	for i, l := range levels {
		kind, name, _ := strings.Cut(l.Name, " ")
		if !has[l.Name] {
			continue
		}
		if i == 0 || levels[i-1].Name != l.Name || levels[i-1].Resource != l.Resource {
			out = append(out, capacity.Series{Kind: capacity.Kind(kind), Name: name, Resource: farm.ResourceName(l.Resource), Source: "due"})
		}
		s := &out[len(out)-1]
		s.Samples = append(s.Samples, capacity.Sample{At: l.At, Value: l.Value})
	}
	return out, nil
}

// subjects are all that has a size, as levels name them. A host without instances has none: the last that was kept is of what was moved away.
func subjects(f *farm.Farm) map[string]bool {
	has := map[string]bool{}
	for _, h := range f.HostsInUse() {
		has[string(capacity.OfHost)+" "+string(h)] = true
	}
	for _, p := range f.Pairs {
		has[string(capacity.OfPair)+" "+string(p.Name)] = true
		for _, s := range p.Shards {
			has[string(capacity.OfShard)+" "+string(s.Name)] = true
		}
	}
	return has
}

// checked is what is kept of a look at the sources.
type checked struct {
	At        time.Time      `json:"at"`
	Conflicts map[string]int `json:"conflicts"` // by attribute
	Stale     []string       `json:"stale"`
	Sources   []string       `json:"sources"`
	Faults    int            `json:"faults"`
}

func (a *app) dueSources(ctx context.Context, d *session.Session) (found, error) {
	report, _, err := a.checkSources(ctx, d)
	if err != nil {
		return found{}, err
	}
	c := checked{At: report.Taken, Conflicts: map[string]int{}, Stale: slices.Clone(report.Stale), Faults: len(report.Faults)}
	for _, s := range report.Sources {
		c.Sources = append(c.Sources, s.Name)
	}
	for _, x := range report.Conflicts {
		c.Conflicts[string(x.Kind)+"."+x.Attribute]++
	}
	f := found{said: fmt.Sprintf("conflicts: %d, stale sources: %d, faults: %d, of %s", len(report.Conflicts), len(report.Stale), len(report.Faults), farm.Counted(len(report.Sources), "source"))}
	if report.HasFindings() {
		f.findings = append(f.findings, farm.Finding{Check: "sources-disagree", Severity: farm.Warning, Subject: "sources", Text: f.said, Remedy: "see them side by side: stowage inventory check"})
	}
	body, err := json.Marshal(c)
	f.yield.Documents = []store.Document{{Kind: checkedKind, Name: d.Farm.Name, Made: report.Taken, Body: body}}
	return f, err
}

// mostClasses of a shard on a server are kept by name in each window, the others together.
const mostClasses = 50

// otherClasses is the name of the others.
const otherClasses = "(others)"

const (
	// answerIn is how long a server may take to log in and to answer one reading.
	answerIn = 15 * time.Second
	// readAtOnce is how many servers' readings are in memory at a time. A class takes up to 1.4 kB: its text has 1,024 bytes by default.
	readAtOnce = 16
)

// dueLoad reads performance_schema of all servers at the beginning and at the end of one window, and keeps the difference.
func (a *app) dueLoad(ctx context.Context, d *session.Session) (found, error) {
	if err := d.Login(); err != nil {
		return found{}, err
	}
	var names []farm.InstanceName
	var servers []*mysql.Server
	for _, p := range d.Farm.Pairs {
		for _, side := range p.SideNames() {
			names = append(names, p.Instance(side))
			servers = append(servers, d.Server(p.Instance(side), d.Farm.Address(p.Sides[side])))
		}
	}
	windows, failed := make([]loadWindow, len(servers)), make([]error, len(servers))
	room := make(chan struct{}, readAtOnce)
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			defer s.Close()
			windows[i], failed[i] = readLoad(ctx, s, d.Farm.Due.Filled().Window, room)
		})
	}
	all.Wait()
	f := found{}
	var silent []string
	var why error
	for i, w := range windows {
		if failed[i] != nil {
			silent, why = append(silent, string(names[i])), failed[i]
			f.yield.Seen = append(f.yield.Seen, store.Seen{Server: string(names[i]), At: time.Now(), Failed: 1})
			continue
		}
		f.yield.Seen = append(f.yield.Seen, store.Seen{Server: string(names[i]), At: w.from, Millis: w.length.Milliseconds(), Unseen: int64(w.unseen)})
		f.yield.Loads = append(f.yield.Loads, w.loads...)
	}
	if len(silent) == len(servers) && why != nil {
		return found{yield: f.yield}, &farm.Error{Op: "read load", Err: fmt.Errorf("no server could be read: %w", why), Hint: cmpHint(why, "stowage doctor; or switch it off: due: {load: off} in farm.yaml")}
	}
	if len(silent) > 0 {
		f.findings = append(f.findings, farm.Finding{Check: "load-not-measured", Severity: farm.Warning, Subject: silent[0], Names: silent,
			Text: fmt.Sprintf("what %s asked was not measured: %v", askedOf(len(silent)), why), Remedy: cmpHint(why, "stowage doctor")})
	}
	f.said = fmt.Sprintf("%d of %s read, %s", len(servers)-len(silent), farm.Counted(len(servers), "instance"), farm.Counted(len(f.yield.Loads), "row"))
	return f, nil
}

func askedOf(servers int) string {
	if servers == 1 {
		return "1 server is"
	}
	return fmt.Sprintf("%d servers are", servers)
}

func cmpHint(err error, other string) string {
	if hint := farm.Hint(err); hint != "" {
		return hint
	}
	return other
}

// loadWindow is what one server was asked in a window.
type loadWindow struct {
	from   time.Time
	length time.Duration
	loads  []store.Load
	unseen uint64
}

// readLoad holds no more than the counters of a server while its window lasts.
func readLoad(ctx context.Context, s *mysql.Server, window time.Duration, room chan struct{}) (out loadWindow, err error) {
	var r *traffic.Statements
	var first traffic.SummaryReading
	var diff digest.Window
	err = inTurn(ctx, room, func(ctx context.Context) (err error) {
		if r, err = traffic.OpenStatements(ctx, s); err != nil {
			return err
		}
		if _, err = r.Schema(ctx); err != nil {
			return err
		}
		first, err = r.Summary(ctx)
		diff.Next(first.Classes)
		first.Classes, out.from = nil, time.Now()
		return err
	})
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return out, err
	}
	if err := wait(ctx, window); err != nil {
		return out, err
	}
	err = inTurn(ctx, room, func(ctx context.Context) error {
		last, err := r.Summary(ctx)
		if err != nil {
			return err
		}
		out.length = time.Since(out.from)
		grown, truncated := diff.Next(last.Classes)
		if truncated {
			return &farm.Error{Op: "read performance_schema", Subject: string(s.Name()), Err: errors.New("its sums were truncated, or the server was started, within the window"), Hint: "nothing to do; the next window counts"}
		}
		out.unseen = last.Prepared - min(first.Prepared, last.Prepared) + last.Lost - min(first.Lost, last.Lost)
		out.loads, err = loadsOf(string(s.Name()), r.Dialect(), grown, out.from)
		return err
	})
	return out, err
}

// inTurn does something when there is room. What may take answerIn begins then.
func inTurn(ctx context.Context, room chan struct{}, do func(context.Context) error) error {
	select {
	case room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-room }()
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	return do(ctx)
}

// loadsOf are the rows of one server. Each shard has a digest of its own, with shard numbers folded in names, so that the same statement in another
// shard is the same class.
func loadsOf(server, dialect string, grown []digest.Summary, at time.Time) ([]store.Load, error) {
	byShard := map[string]*digest.Builder{}
	inputs := map[string]*digest.Live{}
	for _, s := range grown {
		if byShard[s.DB] == nil {
			byShard[s.DB] = digest.New(digest.Options{Rules: digest.RulesLexer})
			inputs[s.DB] = byShard[s.DB].Live(server, sumsKind, dialect)
		}
		inputs[s.DB].Sum(s, time.Time{}, time.Time{})
	}
	var out []store.Load
	for shard, b := range byShard {
		inputs[shard].Close()
		report := b.Digest().Report()
		other := store.Load{Server: server, Shard: shard, Checksum: otherClasses, Fingerprint: otherClasses, At: at}
		for i, c := range report.Classes { // the heaviest first
			l := store.Load{Server: server, Shard: shard, Checksum: c.ID32, Fingerprint: c.Fingerprint, At: at,
				Calls: int64(c.Count), Micros: int64(c.QueryTime.Sum * 1e6), Rows: int64(c.RowsExaminedSum)}
			if i < mostClasses {
				out = append(out, l)
				continue
			}
			other.Calls, other.Micros, other.Rows = other.Calls+l.Calls, other.Micros+l.Micros, other.Rows+l.Rows
		}
		if other.Calls > 0 {
			out = append(out, other)
		}
	}
	return out, nil
}
