package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/replay/effect"
)

// FormatVersion of the outcome as JSON.
const FormatVersion = 1

// Outcome is what a replay, or the dry run of one, came to. Times are in
// seconds.
type Outcome struct {
	FormatVersion int     `json:"format_version"`
	DryRun        bool    `json:"dry_run"`
	Candidate     string  `json:"candidate,omitempty"`
	Original      string  `json:"original,omitempty"`
	Ended         string  `json:"ended"` // complete, as asked, interrupted, or why
	Pace          Pace    `json:"pace"`
	Reading       Reading `json:"reading"`

	Statements uint64   `json:"statements"` // of the recording
	Sent       Sent     `json:"sent"`
	Skipped    []Skip   `json:"skipped"` // the most frequent first
	Sessions   Sessions `json:"sessions"`
	Errors     Errors   `json:"errors"`
	Compared   Compared `json:"compared"`

	// Late is how long after its time a statement was sent. OwnLate is how late
	// sessions woke that had nothing else to do: this machine's part of it.
	Late    Spread `json:"late"`
	OwnLate Spread `json:"own_late"`
	// Recorded and Replayed are of the same statements: those that did not fail
	// and whose time is known. FromDue is from when a statement was due.
	Recorded  Spread  `json:"recorded"`
	Replayed  Spread  `json:"replayed"`
	FromDue   Spread  `json:"from_due"`
	RoundTrip float64 `json:"round_trip"` // taken off Replayed where Recorded is the server's own

	Classes    []Class            `json:"classes"` // by what they took in all, in the recording
	Examples   []Example          `json:"examples"`
	Comparison *digest.Comparison `json:"comparison,omitempty"`
	Notes      []string           `json:"notes"`

	// Digest is what was replayed, to be kept like any other.
	Digest *digest.Digest `json:"-"`
}

// Pace is how fast it went.
type Pace struct {
	Speed           float64   `json:"speed"` // 0: as fast as the sessions went
	Think           bool      `json:"think"`
	Began           time.Time `json:"began,omitzero"`
	Seconds         float64   `json:"seconds"`
	RecordedSeconds float64   `json:"recorded_seconds"`
}

// Sent counts the statements that were sent, or would be.
type Sent struct {
	All      uint64 `json:"all"`
	Read     uint64 `json:"read"`
	Session  uint64 `json:"session"`
	Function uint64 `json:"function"`
	Write    uint64 `json:"write"`
	Define   uint64 `json:"define"`
}

// Skip is one reason for which statements were not sent.
type Skip struct {
	Kind    effect.Kind `json:"kind"`
	Reason  string      `json:"reason"`
	Count   uint64      `json:"count"`
	Example string      `json:"example"`
}

// Sessions counts connections.
type Sessions struct {
	Recorded uint64 `json:"recorded"`
	Most     int    `json:"most_at_once"`
	Evicted  uint64 `json:"evicted"`          // gave their connection to others for a while
	Cut      uint64 `json:"transactions_cut"` // of those, inside a transaction
	Waits    uint64 `json:"reading_waited"`   // reading waited for sessions that were behind
}

// Errors counts what went wrong.
type Errors struct {
	All          uint64       `json:"all"`
	ByCode       []ErrorCount `json:"by_code"`
	Lost         uint64       `json:"lost"`            // connections that broke under a statement
	Timeouts     uint64       `json:"timeouts"`        // closed because no answer came
	NotSent      uint64       `json:"not_sent"`        // for want of a connection
	LostOriginal uint64       `json:"lost_original"`   // the second server did not answer: not compared
	First        string       `json:"first,omitempty"` // of the last four
}

// ErrorCount is one error of the server.
type ErrorCount struct {
	Code       uint16 `json:"code"`
	Text       string `json:"text"` // of the first
	Count      uint64 `json:"count"`
	AsRecorded uint64 `json:"as_recorded"` // failed in the recording too
}

// Compared counts answers.
type Compared struct {
	Equal     uint64 `json:"equal"`
	Different uint64 `json:"different"`
	Chance    uint64 `json:"cannot_compare"` // other than before, and may be
	Untold    uint64 `json:"untold"`         // the recording does not say
}

// Class is what became of one class.
type Class struct {
	ID32        string            `json:"id32"`
	Fingerprint string            `json:"fingerprint"`
	Sent        uint64            `json:"sent"`
	Errors      uint64            `json:"errors"`
	Different   uint64            `json:"different"`
	Chance      uint64            `json:"cannot_compare"`
	Kinds       map[string]uint64 `json:"differences"` // by kind
	Verdict     digest.Verdict    `json:"verdict"`
	Reason      string            `json:"reason,omitempty"`
	RecordedP95 float64           `json:"recorded_p95"`
	ReplayedP95 float64           `json:"replayed_p95"`
	FromDueP95  float64           `json:"from_due_p95"`
	load        float64
}

// Example is a statement whose answer differs.
type Example struct {
	At          time.Time    `json:"at"`
	Thread      uint64       `json:"thread"`
	Database    string       `json:"database,omitempty"`
	Statement   string       `json:"statement"`
	Values      string       `json:"values,omitempty"`
	Differences []Difference `json:"differences"`
}

// HasFindings says whether anything differs, failed, got slower, or is missing from the recording.
func (o *Outcome) HasFindings() bool {
	return o.Reading.IsIncomplete() || o.Compared.Different > 0 || o.Errors.Lost+o.Errors.Timeouts+o.Errors.NotSent+o.Errors.LostOriginal > 0 || o.Comparison != nil && o.Comparison.GotSlower()
}

// outcome sums up a run.
func (p *player) outcome(reading Reading) *Outcome {
	t := p.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &Outcome{
		FormatVersion: FormatVersion, Pace: t.pace(), Reading: reading, Statements: t.seen, Sent: t.sums(), Skipped: t.skipped(),
		Sessions: Sessions{Recorded: t.sessions, Most: p.room.most, Evicted: p.room.evicted, Cut: p.room.cut, Waits: t.crowds},
		Errors:   t.errors(), Compared: t.compared, Late: spreadOf(&t.late), OwnLate: spreadOf(&t.own),
		Recorded: spreadOf(&t.was), Replayed: spreadOf(&t.is), FromDue: spreadOf(&t.total), RoundTrip: t.roundTrip.Seconds(),
		Examples: append([]Example{}, t.examples...), Notes: []string{},
	}
	before, after := t.before.Digest(), t.after.Digest()
	c := digest.Compare(before, after, digest.CompareOptions{SameStatements: true})
	out.Comparison, out.Digest = &c, after
	out.Classes = t.classList(&c)
	out.note(t)
	return out
}

func (t *tally) pace() Pace {
	p := Pace{Speed: t.o.Speed, Think: t.o.Think, Began: t.began.UTC()}
	if !t.began.IsZero() {
		p.Seconds = max(0, time.Since(t.began).Seconds())
		p.RecordedSeconds = max(0, t.last.Sub(t.first).Seconds())
	}
	return p
}

func (t *tally) sums() Sent {
	s := Sent{Read: t.sent[effect.Read], Session: t.sent[effect.Session], Function: t.sent[effect.Function], Write: t.sent[effect.Write], Define: t.sent[effect.Define]}
	s.All = s.Read + s.Session + s.Function + s.Write + s.Define
	return s
}

func (t *tally) errors() Errors {
	e := Errors{ByCode: []ErrorCount{}, Lost: t.gone, Timeouts: t.timeouts, NotSent: t.unsent, LostOriginal: t.goneOriginal, First: t.firstGone}
	e.All = e.Lost + e.Timeouts
	for _, c := range t.codes {
		e.ByCode = append(e.ByCode, *c)
		e.All += c.Count
	}
	sort.Slice(e.ByCode, func(i, j int) bool {
		if e.ByCode[i].Count != e.ByCode[j].Count {
			return e.ByCode[i].Count > e.ByCode[j].Count
		}
		return e.ByCode[i].Code < e.ByCode[j].Code
	})
	return e
}

// classList puts counts and verdicts together.
func (t *tally) classList(c *digest.Comparison) []Class {
	changes := map[string]*digest.Change{}
	for i := range c.Classes {
		changes[c.Classes[i].ID32] = &c.Classes[i]
	}
	due := map[string]float64{}
	for _, d := range t.due.Digest().Report().Classes {
		due[d.ID32] = known(d.QueryTime.P95)
	}
	out := []Class{}
	for _, k := range t.classes {
		class := Class{
			ID32: k.id32(), Fingerprint: effect.Clip(k.fingerprint, 5000), Sent: k.sent, Errors: k.errors, Different: k.different,
			Chance: k.chance, Kinds: k.kinds, Verdict: digest.VerdictInconclusive, Reason: "no times to compare",
		}
		if ch := changes[class.ID32]; ch != nil {
			class.Verdict, class.Reason, class.load = ch.Verdict, ch.Reason, ch.LoadBefore
			if ch.Before != nil && ch.After != nil {
				class.RecordedP95, class.ReplayedP95 = known(ch.Before.QueryTime.P95), known(ch.After.QueryTime.P95)
			}
		}
		class.FromDueP95 = due[class.ID32]
		out = append(out, class)
	}
	sortClasses(out)
	return out
}

func sortClasses(list []Class) {
	slices.SortFunc(list, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b.load, a.load), cmp.Compare(b.Sent, a.Sent), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
}

func known(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// note says what a reader must know before believing the figures.
func (o *Outcome) note(t *tally) {
	say := func(format string, args ...any) { o.Notes = append(o.Notes, fmt.Sprintf(format, args...)) }
	var writes uint64
	for _, s := range o.Skipped {
		if s.Kind == effect.Write || s.Kind == effect.Define {
			writes += s.Count
		}
	}
	if writes > 0 && t.o.Original == nil && o.Compared.Different > 0 {
		say("%s of the recording were not sent: rows that they changed are not what they were", farm.Counted(writes, "write"))
	}
	if t.o.Original == nil && o.Compared.Different > 0 {
		say("compared with the recording: data that has changed since then looks like a difference; --against a server with the same data tells them apart")
	}
	if o.Late.P95 > 0.05 {
		say("the pace was not reached: statements were sent up to %.3g s late (p95 %.3g s)", o.Late.Max, o.Late.P95)
	}
	if o.OwnLate.P95 > 0.01 {
		say("this machine was late itself (p95 %.3g s with nothing to wait for): replay from a machine with more to spare", o.OwnLate.P95)
	}
	if o.Sessions.Waits > 0 && o.Pace.Speed > 0 && !o.Pace.Think {
		say("reading waited %d times for sessions that were behind: all others waited with it", o.Sessions.Waits)
	}
	if t.narrowTo > 0 {
		say("the server gave only %s", farm.Counted(t.narrowTo, "connection"))
	}
	if o.Sessions.Evicted > o.Sessions.Recorded {
		say("sessions had to log in again %d times for want of connections, which takes time: allow more --sessions", o.Sessions.Evicted)
	}
	if o.Sessions.Cut > 0 {
		say("%d transactions were cut to make room: allow more --sessions", o.Sessions.Cut)
	}
	if o.RoundTrip > 0 && o.Recorded.Count > 0 && t.o.Original == nil {
		say("the round trip (%.3g ms) was taken off where the recording's times are the server's own", 1e3*o.RoundTrip)
	}
	if o.Pace.Speed != 1 && o.Recorded.Count > 0 {
		say("calls and load a second are of another pace")
	}
	if o.Reading.Moved > 0 {
		say("%s began more than %v before the log tells of them: sent late, and not counted as late", farm.Counted(o.Reading.Moved, "statement"), readAhead)
	}
	if o.Reading.Backs > 0 {
		say("the recording's clock went back %d times: what followed was taken for a continuation", o.Reading.Backs)
	}
	for name, text := range t.databases {
		say("no database %s: %s", name, text)
	}
	for _, e := range o.Errors.ByCode {
		switch e.Code {
		case 1142, 1143, 1044, 1370, 1227:
			say("the account lacks a privilege, which looks like a difference: %s", e.Text)
		}
	}
	slices.Sort(o.Notes)
}

// valuesText is the values of a prepared statement, for people.
func valuesText(values []any) string {
	var out []string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			out = append(out, "NULL")
		case string:
			out = append(out, fmt.Sprintf("%q", effect.Clip(v, 100)))
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	return effect.Clip(strings.Join(out, ", "), 500)
}
