package metrics

import (
	"math"
	"time"

	"stowage/capacity"
	"stowage/digest"
	"stowage/farm"
)

// Facts are what is told of a farm.
type Facts struct {
	Version    string
	Farm       string
	Tasks      []Task
	Sizes      []Size
	Rows       []capacity.Row
	Sources    *Sources // nil: never checked
	Load       *digest.OverTime
	Findings   []farm.Finding // of the newest inventory
	Backups    []Backup
	Reshapes   []Reshape
	Unended    int  // runs that have not ended
	PerShard   bool // tell of shards, too: a series for each
	TopClasses int  // classes that have a series of their own
}

// Task is one that comes back.
type Task struct {
	Name         string
	Every        time.Duration // 0: off
	DoneAt       time.Time     // zero: never
	Took         time.Duration
	Done, Failed int
}

// Size is how much a subject holds.
type Size struct {
	Kind, Name string
	Bytes      float64
}

// Sources is what the last check of them said.
type Sources struct {
	Names, Stale []string
	Conflicts    map[string]int // by attribute
	Faults       int
}

// Backup is how the backups of a pair stand. What is nil is not there.
type Backup struct {
	Pair      string
	Age       *float64 // of the newest from which it can be restored, in seconds
	ProvenAge *float64 // since one of them was restored and compared, in seconds
	Upto      *time.Time
	Bytes     int64
}

// Reshape is how the tenants of one spec stand.
type Reshape struct {
	Spec    string
	Tenants map[string]int // by stand; each is in one
	Oldest  *float64       // comparison of a tenant that is migrated, in seconds; +Inf: one was never compared; nil: none is migrated
}

// Families are all that Stowage exports, in the order in which it is written. Those that say nothing now have no samples.
func Families(f Facts) []Family {
	info := Family{Name: "stowage_build_info", Help: "Version of Stowage that wrote this, and the farm it is about; always 1.", Kind: Gauge, Labels: []string{"version", "farm"}}
	info.Put(1, f.Version, f.Farm)
	out := []Family{info}
	out = append(out, tasks(f.Tasks)...)
	out = append(out, sizes(f)...)
	out = append(out, runways(f)...)
	out = append(out, sources(f.Sources)...)
	out = append(out, loads(f)...)
	out = append(out, backups(f.Backups)...)
	out = append(out, reshapes(f.Reshapes)...)
	found := Family{Name: "stowage_findings", Help: "Findings of the newest inventory, by check.", Kind: Gauge, Labels: []string{"check", "severity"}}
	count := map[[2]string]float64{}
	for _, x := range f.Findings {
		count[[2]string{x.Check, string(x.Severity)}]++
	}
	for key, n := range count {
		found.Put(n, key[0], key[1])
	}
	unended := Family{Name: "stowage_runs_unended", Help: "Moves and other acts that were begun and have not ended.", Kind: Gauge}
	unended.Put(float64(f.Unended))
	return append(out, found, unended)
}

func tasks(all []Task) []Family {
	label := []string{"task"}
	every := Family{Name: "stowage_due_interval_seconds", Help: "How often a task of stowage due is done.", Kind: Gauge, Labels: label}
	last := Family{Name: "stowage_due_last_success_timestamp_seconds", Help: "When a task of stowage due was last done, since 1970.", Kind: Gauge, Labels: label}
	took := Family{Name: "stowage_due_duration_seconds", Help: "How long the last attempt of a task of stowage due took.", Kind: Gauge, Labels: label}
	runs := Family{Name: "stowage_due_runs_total", Help: "Attempts of a task of stowage due, by how they ended.", Kind: Counter, Labels: []string{"task", "outcome"}}
	for _, t := range all {
		if t.Every > 0 {
			every.Put(t.Every.Seconds(), t.Name)
		}
		if !t.DoneAt.IsZero() {
			last.Put(float64(t.DoneAt.Unix()), t.Name)
		}
		if t.Done+t.Failed > 0 {
			took.Put(t.Took.Seconds(), t.Name)
		}
		runs.Put(float64(t.Done), t.Name, "done")
		runs.Put(float64(t.Failed), t.Name, "failed")
	}
	return []Family{every, last, took, runs}
}

func sizes(f Facts) []Family {
	size := Family{Name: "stowage_size_bytes", Help: "Data on a host, in a pair (the larger side) or, on request, in a shard, as the newest inventory measured it.", Kind: Gauge, Labels: []string{"kind", "name"}}
	for _, s := range f.Sizes {
		if s.Kind != string(capacity.OfShard) || f.PerShard {
			size.Put(s.Bytes, s.Kind, s.Name)
		}
	}
	return []Family{size}
}

func runways(f Facts) []Family {
	labels := []string{"kind", "name", "resource"}
	left := Family{Name: "stowage_runway_seconds", Help: "Time until a limit is reached with 5 (low), 50 (mid) and 95 percent (high) probability, if growth goes on without further steps; +Inf where it is not.", Kind: Gauge, Labels: append(labels[:3:3], "bound")}
	unknown := Family{Name: "stowage_runway_unknown", Help: "1 where there is no runway, mostly because there are too few samples.", Kind: Gauge, Labels: labels}
	limit := Family{Name: "stowage_limit", Help: "What a resource may grow to, in its base unit.", Kind: Gauge, Labels: labels}
	for _, r := range f.Rows {
		if r.Kind == capacity.OfShard && !f.PerShard {
			continue
		}
		of := []string{string(r.Kind), r.Name, string(r.Resource)}
		if r.Limit > 0 && !math.IsInf(r.Limit, 1) {
			limit.Put(r.Limit, of...)
		}
		if r.Days == nil {
			unknown.Put(1, of...)
			continue
		}
		low := r.Days.Low
		for _, b := range []struct {
			bound string
			days  *float64
		}{{"low", &low}, {"mid", r.Days.Mid}, {"high", r.Days.High}} {
			seconds := math.Inf(1)
			if b.days != nil {
				seconds = *b.days * 86400
			}
			left.Put(seconds, append(of[:3:3], b.bound)...)
		}
	}
	return []Family{left, unknown, limit}
}

func sources(s *Sources) []Family {
	stale := Family{Name: "stowage_source_stale", Help: "1 where a source of inventory.yaml could not be read at the last check.", Kind: Gauge, Labels: []string{"source"}}
	conflicts := Family{Name: "stowage_conflicts", Help: "Disagreements between sources at the last check, by attribute.", Kind: Gauge, Labels: []string{"attribute"}}
	faults := Family{Name: "stowage_source_faults", Help: "Lines of sources that could not be read at the last check.", Kind: Gauge}
	if s != nil {
		is := map[string]bool{}
		for _, name := range s.Stale {
			is[name] = true
		}
		for _, name := range s.Names {
			stale.Put(Flag(is[name]), name)
		}
		for attribute, n := range s.Conflicts {
			conflicts.Put(float64(n), attribute)
		}
		faults.Put(float64(s.Faults))
	}
	return []Family{stale, conflicts, faults}
}

func backups(all []Backup) []Family {
	label := []string{"pair"}
	age := Family{Name: "stowage_backup_age_seconds", Help: "Age of the newest backup that a pair can be restored from; absent where there is none.", Kind: Gauge, Labels: label}
	proven := Family{Name: "stowage_backup_proven_age_seconds", Help: "Time since a backup of a pair was restored and every row compared; absent where that was never done.", Kind: Gauge, Labels: label}
	upto := Family{Name: "stowage_backup_restorable_until_timestamp_seconds", Help: "The newest moment to which a pair can be restored, since 1970.", Kind: Gauge, Labels: label}
	bytes := Family{Name: "stowage_backup_bytes", Help: "What the backups of a pair take up in vaults; 0 where there is none.", Kind: Gauge, Labels: label}
	for _, b := range all {
		if b.Age != nil {
			age.Put(*b.Age, b.Pair)
		}
		if b.ProvenAge != nil {
			proven.Put(*b.ProvenAge, b.Pair)
		}
		if b.Upto != nil {
			upto.Put(float64(b.Upto.Unix()), b.Pair)
		}
		bytes.Put(float64(b.Bytes), b.Pair)
	}
	return []Family{age, proven, upto, bytes}
}

func reshapes(all []Reshape) []Family {
	tenants := Family{Name: "stowage_reshape_tenants", Help: "Tenants of a spec by how they stand: not migrated, migrated, active, or wrong by their last comparison; as their shards were last looked at.", Kind: Gauge, Labels: []string{"spec", "state"}}
	oldest := Family{Name: "stowage_reshape_oldest_comparison_seconds", Help: "Age of the oldest comparison of a tenant that is migrated; +Inf where one was never compared, absent where none is migrated.", Kind: Gauge, Labels: []string{"spec"}}
	for _, r := range all {
		for state, n := range r.Tenants {
			tenants.Put(float64(n), r.Spec, state)
		}
		if r.Oldest != nil {
			oldest.Put(*r.Oldest, r.Spec)
		}
	}
	return []Family{tenants, oldest}
}

func loads(f Facts) []Family {
	all := Family{Name: "stowage_load_ratio", Help: "Seconds of query time a second of the whole farm, in the newest day.", Kind: Gauge}
	class := Family{Name: "stowage_class_load_ratio", Help: "Seconds of query time a second of the heaviest statement classes, in the newest day.", Kind: Gauge, Labels: []string{"class"}}
	change := Family{Name: "stowage_class_change_ratio", Help: "Load of the heaviest statement classes against the same hours a week before: 2 is twice.", Kind: Gauge, Labels: []string{"class"}}
	shard := Family{Name: "stowage_shard_load_ratio", Help: "Seconds of query time a second in a shard, in the newest day; on request.", Kind: Gauge, Labels: []string{"shard"}}
	worse := Family{Name: "stowage_query_regressions", Help: "Statement classes that surely became heavier since last week, or are new and heavy.", Kind: Gauge}
	unseen := Family{Name: "stowage_statements_unseen_ratio", Help: "Share of statements that were only counted, such as prepared ones.", Kind: Gauge}
	silent := Family{Name: "stowage_servers_unmeasured", Help: "Servers whose statements were not read in the newest day, or not always.", Kind: Gauge}
	if f.Load != nil && !f.Load.Until.IsZero() {
		all.Put(f.Load.Load)
		worse.Put(float64(len(f.Load.Findings)))
		unseen.Put(f.Load.UnseenShare)
		silent.Put(float64(len(f.Load.NotMeasured)))
		for _, c := range f.Load.Classes[:min(f.TopClasses, len(f.Load.Classes))] {
			class.Put(c.Load, c.Checksum)
			if c.Change != nil {
				change.Put(*c.Change, c.Checksum)
			}
		}
		if f.PerShard {
			for _, s := range f.Load.Shards {
				shard.Put(s.Load, s.Shard)
			}
		}
	}
	return []Family{all, class, change, shard, worse, unseen, silent}
}
