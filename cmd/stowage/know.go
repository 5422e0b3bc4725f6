package main

import (
	"context"
	"errors"
	"time"

	"stowage/capacity"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/inventory/shardload"
	"stowage/report"
	"stowage/session"
	"stowage/store"
)

// The parts of what is known of a farm. Each is read from what was kept; only knownRunway asks somebody.

func knownSources(d *session.Session, f *report.KnowFacts) (any, error) {
	k, ok, err := readKnown(d)
	if err != nil || !ok {
		return nil, err
	}
	f.Sources, f.Graph = &k.Report, &k.Graph
	return k, nil
}

// knownRunway asks the Prometheus servers of inventory.yaml, too, as stowage capacity does.
func (a *app) knownRunway(ctx context.Context, d *session.Session, f *report.KnowFacts) (any, error) {
	known, err := a.histories(ctx, d, "")
	if err != nil {
		return nil, err
	}
	f.Series, f.Rows = known.series, capacity.Assess(d.Farm, known.series)
	for _, x := range known.asked {
		f.Histories = append(f.Histories, report.History{Name: x.Name, Series: x.Series, Used: x.Used, Said: x.said()})
	}
	rate, err := a.copyRate(d, "")
	if err != nil {
		return nil, err
	}
	curve := a.newestCurve(d)
	return capacityAnswer{FormatVersion: 1, Farm: d.Farm.Name, Now: capacity.Of(d.Farm), Rows: f.Rows, Prometheus: known.asked, Curve: curve, Outlook: outlook(d.Farm, curve, rate)}, nil
}

func (a *app) runwayIn(ctx context.Context) func(*session.Session, *report.KnowFacts) (any, error) {
	return func(d *session.Session, f *report.KnowFacts) (any, error) { return a.knownRunway(ctx, d, f) }
}

// shardNeeds is the load of one shard as JSON.
type shardNeeds struct {
	Shard  string             `json:"shard"`
	Pair   string             `json:"pair"`
	Needs  map[string]float64 `json:"needs"` // base units
	Growth float64            `json:"growth_per_day"`
	// Measured is what the newest measurement of load found; what is not in it was not measured, or is typed.
	Measured map[string]float64 `json:"measured"`
	// DiskMeasured is what the newest inventory measured, null where it did not; needs are typed in farm.yaml.
	DiskMeasured *int64 `json:"disk_measured"`
}

// loadView is what the page Load by shard has as JSON.
type loadView struct {
	FormatVersion int          `json:"format_version"`
	Shards        []shardNeeds `json:"shards"` // in the order of farm.yaml
}

func knownLoad(d *session.Session, f *report.KnowFacts) (any, error) {
	var inv inventory.Inventory
	switch _, err := d.Store.LatestDocument("inventory", "", &inv); {
	case err == nil:
		f.Inventory = &inv
	case !errors.Is(err, store.ErrNone):
		return nil, err
	}
	var load shardload.Report
	switch _, err := d.Store.LatestDocument(loadKind, d.Farm.Name, &load); {
	case err == nil:
		f.Load = &load
	case !errors.Is(err, store.ErrNone):
		return nil, err
	}
	accepted, err := d.Measured()
	if err != nil {
		return nil, err
	}
	f.Accepted = map[farm.ShardName]farm.Resources{}
	for name, m := range accepted.Shards {
		f.Accepted[name] = m.Figures
	}
	found := map[farm.ShardName]map[string]float64{}
	for _, s := range load.Shards {
		found[s.Shard] = map[string]float64{}
		for r, x := range map[farm.ResourceName]shardload.Figure{farm.CPU: s.CPU, farm.IOPS: s.IOPS, farm.Memory: s.Memory, farm.Disk: s.Disk} {
			if x.Measured() {
				found[s.Shard][string(r)] = *x.Value
			}
		}
	}
	sizes, out := inv.ShardBytes(), []shardNeeds{}
	for _, p := range d.Farm.Pairs {
		for _, s := range p.Shards {
			x := shardNeeds{Shard: string(s.Name), Pair: string(p.Name), Needs: map[string]float64{}, Growth: s.Growth, Measured: found[s.Name]}
			for r, v := range s.Needs {
				x.Needs[string(r)] = v
			}
			if n, ok := sizes[s.Name]; ok && n > 0 {
				x.DiskMeasured = &n
			}
			out = append(out, x)
		}
	}
	return loadView{1, out}, nil
}

// classesShown is how many classes of queries are shown.
const classesShown = 25

func (a *app) knownQueries(d *session.Session, f *report.KnowFacts) (any, error) {
	docs, err := d.Store.Documents("digest")
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	kept, err := a.keptWindows(nil)
	if err != nil {
		return nil, err
	}
	all, err := merged(kept)
	if err != nil {
		return nil, err
	}
	t := all.Trend(digest.TrendOptions{Classes: classesShown})
	if err := a.remember(&t); err != nil {
		return nil, err
	}
	f.Trend = &t
	return t, nil
}

// findingsView is what the page Findings has as JSON.
type findingsView struct {
	FormatVersion int            `json:"format_version"`
	Findings      []farm.Finding `json:"findings"`       // of the newest inventory
	Taken         time.Time      `json:"taken,omitzero"` // it
	Tune          *tunedView     `json:"tune,omitempty"` // of the newest stowage tune --all
}

// tunedView is what tune found on all hosts.
type tunedView struct {
	Table  []tuneCell   `json:"table"`
	Silent []tuneSilent `json:"silent"` // hosts that did not answer
}

func knownFindings(d *session.Session, f *report.KnowFacts) (any, error) {
	var inv inventory.Inventory
	_, noInventory := d.Store.LatestDocument("inventory", "", &inv)
	var tuned tuneAll
	_, noTune := d.Store.LatestDocument(tuneKind, d.Farm.Name, &tuned)
	for _, err := range []error{noInventory, noTune} {
		if err != nil && !errors.Is(err, store.ErrNone) {
			return nil, err
		}
	}
	if noInventory != nil && noTune != nil {
		return nil, nil
	}
	f.Findings = []report.Found{}
	for _, x := range inv.Findings {
		f.Findings = append(f.Findings, report.Found{Finding: x, From: "inventory"})
	}
	out := findingsView{FormatVersion: 1, Findings: append([]farm.Finding{}, inv.Findings...), Taken: inv.Taken}
	if noTune == nil {
		for _, x := range tuned.byHost() {
			f.Findings = append(f.Findings, report.Found{Finding: x, From: "tune"})
		}
		out.Tune = &tunedView{tuned.Table, tuned.Silent}
	}
	return out, nil
}

// addKnown adds all that is known to a report. What cannot be read is left out of it; its page says why.
func (a *app) addKnown(ctx context.Context, d *session.Session, facts *report.Facts) {
	k := &report.KnowFacts{Farm: d.Farm, Made: time.Now()}
	for _, add := range []func(*session.Session, *report.KnowFacts) (any, error){knownSources, a.runwayIn(ctx), knownLoad, a.knownQueries} {
		_, _ = add(d, k) // as the comment says
	}
	read := backupReads{copiesOf, func(d *session.Session) (backupWindow, error) { return a.windowOf(d, windowAsk{}) }}
	if _, err := knownBackups(d, k, read); err == nil && k.Backups != nil && facts.Plan != nil {
		_ = a.addBackupsOfPlan(d, *facts.Plan, k.Backups) // as the comment says
	}
	_, _ = knownReshapes(d, k, reshapesOf) // as the comment says
	if len(k.Series) == 0 {
		k.Rows = nil // nothing but what is declared, which the plan has
	}
	if k.Inventory == nil && k.Sources == nil && k.Rows == nil && k.Trend == nil && k.Backups == nil && k.Reshapes == nil {
		return // nobody has asked yet: a report of a plan or a bench alone
	}
	facts.Know = k
}
