package catalogue

import (
	"time"

	"stowage/farm"
)

// PairStatus is how a pair stands.
type PairStatus struct {
	Pair farm.PairName `json:"pair"`
	// Newest is the newest backup from which the pair can be restored, Proven the newest that was restored and compared; nil: there is none.
	Newest *Backup `json:"newest"`
	Proven *Backup `json:"proven"`
	// Age is since the moment of Newest, ProvenAge since Proven was proven, in seconds.
	Age       *float64 `json:"age_seconds"`
	ProvenAge *float64 `json:"proven_age_seconds"`
	Chain     string   `json:"chain"`   // of Newest
	Backups   int      `json:"backups"` // of the pair
	Bytes     int64    `json:"bytes"`   // that they take up
	// Logical is the newest logical backup that has all shards of the pair, and can be restored; nil: there is none. LogicalProvenAge is since one was proven, in
	// seconds. All else here is of physical ones, but for the number and the bytes.
	Logical          *Backup  `json:"logical"`
	LogicalProvenAge *float64 `json:"logical_proven_age_seconds"`
	// From and Upto bound the moments that the pair can be restored to; nil: none.
	From *time.Time `json:"restorable_from"`
	Upto *time.Time `json:"restorable_up_to"`
}

// Report is the state of a farm's backups.
type Report struct {
	Pairs    []PairStatus   `json:"pairs"` // in the order of farm.yaml
	Findings []farm.Finding `json:"findings"`
}

// Status says how each pair of a farm stands, and what is wrong.
func Status(now time.Time, f *farm.Farm, all []Backup, archived []Archived) Report {
	cfg := f.Backup.Filled()
	r := Report{Pairs: []PairStatus{}}
	found := newSayings()
	of := map[farm.PairName][]Backup{}
	for i := range all {
		if b := &all[i]; b.Farm == f.Name {
			of[b.Pair] = append(of[b.Pair], *b)
		}
	}
	for _, p := range f.Pairs {
		mine := Chains(of[p.Name])
		var logs []Archived
		for _, a := range archived {
			if a.Farm == f.Name && a.Pair == p.Name {
				logs = append(logs, a)
			}
		}
		s := statusOf(now, p.Name, mine, logs)
		s.logical(now, f.Name, shardsOf(p), of[p.Name])
		r.Pairs = append(r.Pairs, s)
		found.backups(now, cfg, s, mine)
		found.logical(now, cfg, s)
		found.place(s)
		if cfg.Binlogs > 0 && s.Newest != nil {
			found.binlogs(now, cfg, s, mine, logs)
		}
	}
	r.Findings = found.list()
	return r
}

func statusOf(now time.Time, name farm.PairName, chains []Chain, logs []Archived) PairStatus {
	s := PairStatus{Pair: name}
	for _, c := range chains {
		s.Backups += len(c.Backups)
		s.Bytes += c.Bytes()
		if c.line() != "" {
			continue
		}
		for _, b := range c.Restorable() {
			if s.Newest == nil || b.At.After(s.Newest.At) {
				s.Newest, s.Chain = &b, c.ID
			}
			if b.ProvenAt != nil && (s.Proven == nil || b.At.After(s.Proven.At)) {
				s.Proven = &b
			}
			if s.From == nil || b.At.Before(*s.From) {
				s.From = &b.At
			}
			if at := reach(b, logs); s.Upto == nil || at.After(*s.Upto) {
				s.Upto = &at
			}
		}
	}
	if s.Newest != nil {
		s.Age = seconds(now.Sub(s.Newest.At))
	}
	if s.Proven != nil {
		s.ProvenAge = seconds(now.Sub(*s.Proven.ProvenAt))
	}
	return s
}

func (p *PairStatus) logical(now time.Time, f string, shards []farm.ShardName, its []Backup) {
	p.Logical = newestLogical(f, p.Pair, shards, its, now.Add(ahead))
	for _, b := range its {
		if age := p.LogicalProvenAge; b.ProvenAt != nil && b.Damaged == "" && b.HasAll(shards) && (age == nil || now.Sub(*b.ProvenAt).Seconds() < *age) {
			p.LogicalProvenAge = seconds(now.Sub(*b.ProvenAt))
		}
	}
}

func seconds(d time.Duration) *float64 {
	v := d.Seconds()
	return &v
}
