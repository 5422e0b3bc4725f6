package digest

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"stowage/farm"
	"stowage/internal/student"
)

// Hour is what one server was asked in an hour, by shard and class. Micros is query time.
type Hour struct {
	Server, Shard, Checksum, Fingerprint string
	At                                   time.Time
	Calls, Micros, Rows                  int64
}

// Watch is how much of an hour a server was looked at. Unseen statements are known by number only.
type Watch struct {
	Server         string
	At             time.Time
	Millis, Unseen int64
	Failed         int
}

// OverTime is the load of a farm over time, newest day against the same hours of the week before.
type OverTime struct {
	FormatVersion int            `json:"format_version"`
	From          time.Time      `json:"from"` // of the newest day; the hours before are of the week before
	Until         time.Time      `json:"until"`
	Hours         int            `json:"hours"`        // server hours that were looked at in the newest day
	HoursBefore   int            `json:"hours_before"` // of those, with the same hour a week before
	NotMeasured   []string       `json:"not_measured"` // servers that were not read in the newest day, or in part only
	UnseenShare   float64        `json:"unseen_share"` // statements of which only the number is known, of all
	Load          float64        `json:"load"`         // seconds of query time a second
	Classes       []ClassLoad    `json:"classes"`      // by load, the heaviest first
	Shards        []ShardLoad    `json:"shards"`       // by load
	Findings      []farm.Finding `json:"findings"`
}

// ClassLoad is one class in all shards. Change is what its load is multiplied by against the week before, nil where that is not known, as the
// product of calls and time per call; Low and High are a 95 % interval.
type ClassLoad struct {
	Checksum    string   `json:"id32"`
	Fingerprint string   `json:"fingerprint"`
	Load        float64  `json:"load"`
	Share       float64  `json:"share"`
	Calls       float64  `json:"calls_per_second"`
	PerCall     float64  `json:"seconds_per_call"`
	Shards      int      `json:"shards"`
	TopShard    string   `json:"top_shard"`
	Before      float64  `json:"load_before"` // in the hours that both weeks have
	Change      *float64 `json:"change"`
	Low         *float64 `json:"change_low"`
	High        *float64 `json:"change_high"`
	CallsChange *float64 `json:"calls_change"`
	TimeChange  *float64 `json:"time_per_call_change"`
	IsNew       bool     `json:"is_new"` // the week before was looked at, and did not have it
}

// ShardLoad is one shard, over its servers.
type ShardLoad struct {
	Shard    string   `json:"shard"`
	Load     float64  `json:"load"`
	Share    float64  `json:"share"`
	Calls    float64  `json:"calls_per_second"`
	TopClass string   `json:"top_class"`
	Change   *float64 `json:"change"`
}

const (
	week = 7 * 24 * time.Hour
	// A change is a finding when it is surely above worse, in a class with at least a hundredth of the load. Below a tenth, weeks differ by themselves.
	worse     = 1.2
	noteworth = 0.01
	// newWorth is the share from which a class that was not there is a finding.
	newWorth = 0.05
	// fewestHours in common with the week before that a change is told from.
	fewestHours = 3
)

type serverHour struct {
	server string
	at     int64
}

// Spans are the hours that LoadOverTime looks at: the newest day, up to the end of the newest hour that was looked at, and the same day a week before.
func Spans(watches []Watch) (out [2]struct{ From, Until time.Time }) {
	for _, w := range watches {
		if at := w.At.Add(time.Hour); at.After(out[0].Until) {
			out[0].Until = at
		}
	}
	out[0].From = out[0].Until.Add(-24 * time.Hour)
	out[1].From, out[1].Until = out[0].From.Add(-week), out[0].Until.Add(-week)
	return out
}

// LoadOverTime puts hours together, each as it comes; those outside of Spans do not count. Rates are by the time that was looked at, so hours with longer windows do not count more.
func LoadOverTime(hours iter.Seq[Hour], watches []Watch) OverTime {
	o := OverTime{FormatVersion: FormatVersion, NotMeasured: []string{}, Classes: []ClassLoad{}, Shards: []ShardLoad{}, Findings: []farm.Finding{}}
	looked := map[serverHour]float64{} // seconds
	newest := Spans(watches)[0]
	if newest.Until.IsZero() {
		return o
	}
	o.From, o.Until = newest.From, newest.Until
	var unseen, calls int64
	for _, w := range watches {
		if w.Millis > 0 {
			looked[serverHour{w.Server, w.At.Unix()}] = float64(w.Millis) / 1000
		}
		if !w.At.Before(o.From) {
			unseen += w.Unseen
			if w.Failed > 0 && !slices.Contains(o.NotMeasured, w.Server) {
				o.NotMeasured = append(o.NotMeasured, w.Server)
			}
		}
	}
	slices.Sort(o.NotMeasured)
	m := mixer{o: &o, looked: looked, hours: map[string]float64{}, classes: map[string]*mixed{}, shards: map[string]*mixed{}}
	for at := range looked {
		if at.at >= o.From.Unix() {
			o.Hours++
			if looked[serverHour{at.server, at.at - int64(week/time.Second)}] > 0 {
				o.HoursBefore++
			}
		}
	}
	for h := range hours {
		if !h.At.Before(o.From) {
			calls += h.Calls
		}
		m.add(h)
	}
	if unseen+calls > 0 {
		o.UnseenShare = float64(unseen) / float64(unseen+calls)
	}
	m.finish()
	return o
}

// mixed is a class, or a shard, in both weeks, by server hour: rates a second.
type mixed struct {
	name        string
	fingerprint string
	load, calls float64 // of the newest day
	now, then   map[int64]*rates
	parts       map[string]float64 // load by shard, or by class
}

type rates struct{ load, calls float64 }

type mixer struct {
	o               *OverTime
	looked          map[serverHour]float64
	hours           map[string]float64
	classes, shards map[string]*mixed
}

func (m *mixer) add(h Hour) {
	at := serverHour{h.Server, h.At.Unix()}
	seconds := m.looked[at]
	if seconds == 0 {
		return
	}
	load, calls := float64(h.Micros)/1e6/seconds, float64(h.Calls)/seconds
	isNow := !h.At.Before(m.o.From)
	for _, x := range []struct {
		in         map[string]*mixed
		name, part string
	}{{m.classes, h.Checksum, h.Shard}, {m.shards, h.Shard, h.Checksum}} {
		c := x.in[x.name]
		if c == nil {
			c = &mixed{name: x.name, fingerprint: h.Fingerprint, now: map[int64]*rates{}, then: map[int64]*rates{}, parts: map[string]float64{}}
			x.in[x.name] = c
		}
		if isNow {
			// The mean over the hours of this server: a server of which half the hours were read is not half as busy.
			c.load += load / m.hoursOf(h.Server)
			c.calls += calls / m.hoursOf(h.Server)
			c.parts[x.part] += load / m.hoursOf(h.Server)
		}
		other := at
		if isNow {
			other.at -= int64(week / time.Second)
		} else {
			other.at += int64(week / time.Second)
		}
		newest := max(at.at, other.at)
		if m.looked[other] == 0 || newest < m.o.From.Unix() || newest >= m.o.Until.Unix() {
			continue // no such hour in the other week
		}
		side := c.then
		if isNow {
			side = c.now
		}
		if side[newest] == nil {
			side[newest] = &rates{}
		}
		side[newest].load += load
		side[newest].calls += calls
	}
}

// hoursOf is in how many hours of the newest day a server was looked at.
func (m *mixer) hoursOf(server string) float64 {
	if n, known := m.hours[server]; known {
		return n
	}
	n := 0
	for at := m.o.From.Unix(); at < m.o.Until.Unix(); at += 3600 {
		if m.looked[serverHour{server, at}] > 0 {
			n++
		}
	}
	m.hours[server] = float64(max(1, n))
	return m.hours[server]
}

func (m *mixer) finish() {
	common := m.commonHours()
	for _, c := range m.classes {
		m.o.Load += c.load
	}
	for _, c := range m.classes {
		if c.load == 0 {
			continue
		}
		x := ClassLoad{Checksum: c.name, Fingerprint: c.fingerprint, Load: c.load, Share: share(c.load, m.o.Load), Calls: c.calls, Shards: len(c.parts), TopShard: heaviest(c.parts)}
		if c.calls > 0 {
			x.PerCall = c.load / c.calls
		}
		c.changed(common, &x)
		m.o.Classes = append(m.o.Classes, x)
	}
	for _, s := range m.shards {
		if s.load == 0 {
			continue
		}
		x := ShardLoad{Shard: s.name, Load: s.load, Share: share(s.load, m.o.Load), Calls: s.calls}
		if c := m.classes[heaviest(s.parts)]; c != nil {
			x.TopClass = c.name
		}
		var as ClassLoad
		s.changed(common, &as)
		x.Change = as.Change
		m.o.Shards = append(m.o.Shards, x)
	}
	slices.SortFunc(m.o.Classes, func(a, b ClassLoad) int {
		return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(a.Checksum, b.Checksum))
	})
	slices.SortFunc(m.o.Shards, func(a, b ShardLoad) int {
		return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(a.Shard, b.Shard))
	})
	for _, c := range m.o.Classes {
		if f, ok := c.finding(); ok {
			m.o.Findings = append(m.o.Findings, f)
		}
	}
}

// commonHours are the hours of the newest day that both weeks have, on any server.
func (m *mixer) commonHours() (out []int64) {
	for at := m.o.From.Unix(); at < m.o.Until.Unix(); at += 3600 {
		for seen := range m.looked {
			if seen.at == at && m.looked[serverHour{seen.server, at - int64(week/time.Second)}] > 0 {
				out = append(out, at)
				break
			}
		}
	}
	return out
}

// changed compares hour by hour with the week before: the mean and the deviation of the logarithms of the ratios. What the hours of a day share,
// all of them have in both weeks.
func (c *mixed) changed(common []int64, x *ClassLoad) {
	if len(common) < fewestHours {
		return
	}
	var now, then rates
	var logs []float64
	for _, at := range common {
		n, t := c.now[at], c.then[at]
		if n != nil {
			now.load, now.calls = now.load+n.load, now.calls+n.calls
		}
		if t != nil {
			then.load, then.calls = then.load+t.load, then.calls+t.calls
		}
		if n != nil && t != nil && n.load > 0 && t.load > 0 {
			logs = append(logs, math.Log(n.load/t.load))
		}
	}
	x.Before = then.load / float64(len(common))
	if then.load == 0 {
		x.IsNew = now.load > 0
		return
	}
	ratio := now.load / then.load
	x.Change = &ratio
	if then.calls > 0 && now.calls > 0 {
		byCalls := now.calls / then.calls
		byTime := ratio / byCalls
		x.CallsChange, x.TimeChange = &byCalls, &byTime
	}
	if n := float64(len(logs)); n >= fewestHours {
		mean, sum := 0.0, 0.0
		for _, l := range logs {
			mean += l / n
		}
		for _, l := range logs {
			sum += (l - mean) * (l - mean)
		}
		half := student.Quantile(0.05, n-1) * math.Sqrt(sum/(n-1)/n)
		low, high := math.Exp(mean-half), math.Exp(mean+half)
		x.Low, x.High = &low, &high
	}
}

func share(part, of float64) float64 {
	if of == 0 {
		return 0
	}
	return part / of
}

func heaviest(parts map[string]float64) string {
	best := ""
	for name, load := range parts {
		if best == "" || load > parts[best] || load == parts[best] && name < best {
			best = name
		}
	}
	return best
}
