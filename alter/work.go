package alter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/alter/plan"
	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/sides"
	"stowage/store"
	"stowage/swing"
)

// work is one pair whose tables are changed: what the steps act on.
type work struct {
	act.Task
	act    *Act
	order  order
	plan   plan.Plan
	pair   plan.Pair
	first  *side
	second *side   // nil: there is no other
	others []*side // further replicas that are out with the first
	before before

	mariadb bool // the server whose tables are changed is one
}

// side is one of the two, with what is changed on it.
type side struct {
	*sides.Member
	hasNew bool // of a further replica: all rows that it gets have the new shape by now
}

// before is what was set on the servers before anything was changed. It is kept in the store, so that a kill forgets nothing.
type before struct {
	Conversions string `json:"conversions"`    // slave_type_conversions of the first side
	SyncRelay   string `json:"sync_relay_log"` // of the second
	// Others are slave_type_conversions of further replicas.
	Others map[farm.SideName]string `json:"others,omitempty"`
}

const beforeDocument = "before alter"

func isNone(err error) bool { return errors.Is(err, store.ErrNone) }

func (a *Act) work(c engine.Call, step act.Step, beat func(string)) (*work, error) {
	w := &work{act: a}
	var err error
	if w.Task, err = a.Conductor.Task(c, step, beat, &w.order, nil); err != nil {
		return nil, err
	}
	w.About = farm.Event{Pair: w.order.Pair}
	if _, err := a.Store.LatestDocument(planDocument, w.order.Key, &w.plan); err != nil {
		return nil, err
	}
	n := slices.IndexFunc(w.plan.Pairs, func(p plan.Pair) bool { return p.Pair == w.order.Pair })
	if n < 0 {
		return nil, fmt.Errorf("%w: the plan of the run has no pair %s", farm.ErrInput, w.order.Pair)
	}
	w.pair = w.plan.Pairs[n]
	if _, err := a.Store.LatestDocument(beforeDocument, w.key(), &w.before); err != nil && !isNone(err) {
		return nil, err
	}
	open := func(o sides.Order, steps ...string) (*side, error) {
		m, err := a.Member(o, &w.Task, w.border(steps...), nil)
		if err != nil {
			return nil, err
		}
		for _, t := range w.pair.Tables {
			m.TablesMayDiffer = append(m.TablesMayDiffer, string(t.Shard)+"."+w.plan.Forms[t.Form].Change.Table)
		}
		// What the two sides tell is of one part.
		m.Tell = func(kind farm.EventKind, phase, text string, millis float64) {
			if text != "" && kind != farm.GateOpened {
				text = fmt.Sprintf("side %s: %s", o.Side, text)
			}
			w.Report(farm.Event{Kind: kind, Phase: phase, Text: text, Millis: millis})
		}
		return &side{Member: m}, nil
	}
	if w.first, err = open(w.order.First); err != nil {
		return nil, err
	}
	if w.order.Second == nil {
		return w, nil
	}
	if w.second, err = open(*w.order.Second, "out", w.secondOut(), "in", twin+"in", StepAlter, StepTwin); err != nil {
		w.Close()
		return nil, err
	}
	for _, o := range w.order.Others {
		s, err := open(o, "out", StepOthers, "in", StepOthersIn, StepAlter, StepOthers)
		if err != nil {
			w.Close()
			return nil, err
		}
		w.others = append(w.others, s)
	}
	w.adapt()
	return w, nil
}

// adapt gives the dances of the two sides what this act wants of them.
func (w *work) adapt() {
	if d, steps := w.second.Dance.(*swing.Stepdown); steps {
		d.Held = w.order.isHeld()
	}
	w.first.TwinFires = &w.second.Scheduler
	for _, s := range append(w.others, w.first) {
		inner := s.Rejoin
		s.Rejoin = func(ctx context.Context) error { // its server may have been restarted, without the setting
			if err := w.convert(ctx, s); err != nil {
				return err
			}
			return inner(ctx)
		}
	}
}

func (w *work) key() string { return w.order.Key + "/" + w.order.subject() }

// Remember implements act.Work.
func (*work) Remember() json.RawMessage { return nil }

// Close implements act.Work.
func (w *work) Close() {
	for _, s := range w.all() {
		s.Close()
	}
}

// all are the sides that there are.
func (w *work) all() []*side {
	if w.second == nil {
		return []*side{w.first}
	}
	return append([]*side{w.first, w.second}, w.others...)
}

func (w *work) say(format string, args ...any) {
	w.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf(format, args...)})
}

// shards are the databases in which something is changed.
func (w *work) shards() []string {
	var out []string
	for _, t := range w.pair.Tables {
		if !slices.Contains(out, string(t.Shard)) {
			out = append(out, string(t.Shard))
		}
	}
	return out
}

// preflight asks everything once more, and keeps what the sides are before they leave.
func (w *work) preflight(ctx context.Context) error {
	if err := act.MayGoOn(ctx, w); err != nil {
		return err
	}
	if w.order.servesMeanwhile() {
		return nil
	}
	for _, s := range w.all() {
		if err := s.KeepBefore(ctx, w.act.Store); err != nil {
			return err
		}
	}
	if !w.order.isHeld() {
		return nil
	}
	var err error
	if w.before.Conversions, err = w.first.Leaves.Setting(ctx, conversions); err != nil {
		return err
	}
	if w.before.SyncRelay, err = w.second.Leaves.Setting(ctx, syncRelay); err != nil {
		return err
	}
	w.before.Others = map[farm.SideName]string{}
	for _, s := range w.others {
		if w.before.Others[s.Side], err = s.Leaves.Setting(ctx, conversions); err != nil {
			return err
		}
	}
	return w.act.Store.PutDocument(beforeDocument, w.key(), time.Now(), w.before)
}

// Variables that are changed for a while.
const (
	conversions = "slave_type_conversions"
	syncRelay   = "sync_relay_log"
	nonLossy    = "ALL_NON_LOSSY"
)

// done notes that the pair has its new tables: the plan is done with it.
func (w *work) done() error {
	if w.order.Runbook == replicaAlone {
		return nil
	}
	return w.act.Store.PutDocument(doneDocument, doneKey(w.plan, w.pair.Pair), time.Now(), time.Now().UTC())
}

// subjectOf names a table of a shard on a server.
func subjectOf(s *mysql.Server, shard farm.ShardName, table string) string {
	return fmt.Sprintf("%s.%s on %s", shard, table, s.Name())
}

// needsConversions reports whether an altered side applies rows of the old shape only by converting them.
func (w *work) needsConversions() bool {
	return slices.ContainsFunc(w.pair.Tables, func(t plan.Table) bool { return w.plan.Forms[t.Form].Conversions })
}

// convert lets an altered side convert rows of the old shape, where no value is lost by that. It holds from the next row event on.
func (w *work) convert(ctx context.Context, s *side) error {
	if !w.order.isHeld() || !w.needsConversions() || s.hasNew || !slices.Contains([]string{"catch-up", "check", "warm", StepHold, StepSwitch, StepOthers, StepOthersIn}, w.Step) {
		return nil
	}
	return setConversions(ctx, s)
}

// setConversions sets them, and starts an applier that stopped for want of them.
func setConversions(ctx context.Context, s *side) error {
	now, err := s.Leaves.Setting(ctx, conversions)
	if err != nil || slices.Contains(strings.Split(now, ","), nonLossy) {
		return err
	}
	if err := s.Leaves.SetSetting(ctx, conversions, strings.Trim(now+","+nonLossy, ",")); err != nil {
		return err
	}
	r, err := s.Leaves.Replication(ctx)
	// An applier of MySQL that has workers says only that one of them failed.
	if err != nil || r.SQL != "No" || !strings.Contains(r.SQLError, "cannot be converted") && !strings.HasPrefix(r.SQLError, "Coordinator stopped") {
		return err
	}
	return s.Leaves.StartReplicating(ctx, 30*time.Second)
}

// resetConversions sets them as they were.
func (w *work) resetConversions(ctx context.Context, s *side) error {
	if !w.order.isHeld() || !w.needsConversions() {
		return nil
	}
	was := w.before.Conversions
	if s != w.first {
		was = w.before.Others[s.Side]
	}
	return s.Leaves.SetSetting(ctx, conversions, was)
}
