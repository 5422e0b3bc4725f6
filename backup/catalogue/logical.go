package catalogue

import (
	"fmt"
	"slices"
	"time"

	"stowage/farm"
)

// NextLogical says whether a logical backup of these shards of a pair is due. Its interval is farm.yaml's, in which such backups are off by default.
func NextLogical(now time.Time, cfg farm.Backup, f string, pair farm.PairName, shards []farm.ShardName, all []Backup) Turn {
	every := cfg.Filled().Logical
	t := Turn{Kind: Logical, Due: every > 0, Why: "there is no logical backup of these shards"}
	if every > 0 {
		t.Next = now
	}
	last := newestLogical(f, pair, shards, all, now.Add(ahead))
	if last == nil {
		return t
	}
	since := now.Sub(last.Began)
	t.Why = fmt.Sprintf("the last logical backup is %s old", inDays(since))
	if t.Due = every > 0 && since >= every-slack(every); every > 0 && !t.Due {
		t.Next = last.Began.Add(every)
	}
	return t
}

// newestLogical is the newest that can be restored and has all of the shards; nil: there is none.
func newestLogical(f string, pair farm.PairName, shards []farm.ShardName, all []Backup, before time.Time) *Backup {
	var out *Backup
	for _, b := range all {
		if b.Farm != f || b.Pair != pair || b.IsPhysical() || b.Damaged != "" || b.RemovedAt != nil || b.Began.After(before) || !b.HasAll(shards) {
			continue
		}
		if out == nil || b.At.After(out.At) {
			out = &b
		}
	}
	return out
}

// HasAll: it is a logical backup that has all of these shards.
func (b Backup) HasAll(shards []farm.ShardName) bool {
	return !b.IsPhysical() && !slices.ContainsFunc(shards, func(s farm.ShardName) bool { return !slices.Contains(b.Shards, s) })
}

// shardsOf are the names of a pair's shards.
func shardsOf(p farm.Pair) (out []farm.ShardName) {
	for _, s := range p.Shards {
		out = append(out, s.Name)
	}
	return out
}

// logical: what farm.yaml asks for of the logical backups of a pair.
func (s *sayings) logical(now time.Time, cfg farm.Backup, p PairStatus) {
	if cfg.Logical <= 0 {
		return
	}
	const take, prove = "stowage backup run --kind logical", "stowage backup verify"
	b := p.Logical
	if b == nil {
		s.say("backup-logical-none", farm.Warning, p.Pair, "no logical backup has all of its shards, and farm.yaml asks for one", "no logical backups have all of their shards, and farm.yaml asks for them", take)
		return
	}
	if age := now.Sub(b.At); age > late(cfg.Logical) {
		s.say("backup-logical-old", farm.Warning, p.Pair, fmt.Sprintf("its newest logical backup is %s old, and farm.yaml asks for one every %s", inDays(age), inDays(cfg.Logical)),
			"their newest logical backups are older than farm.yaml asks for", take)
	}
	if p.LogicalProvenAge == nil {
		s.say("backup-logical-unproven", farm.Warning, p.Pair, "no logical backup of it was ever restored and compared", "no logical backup of them was ever restored and compared", prove)
	} else if age := time.Duration(*p.LogicalProvenAge * float64(time.Second)); cfg.Verify > 0 && age > late(cfg.Verify) {
		s.say("backup-logical-unproven", farm.Warning, p.Pair, fmt.Sprintf("a logical backup of it was last restored and compared %s ago, and farm.yaml asks for that every %s", inDays(age), inDays(cfg.Verify)),
			"no logical backup of them was restored and compared lately", prove)
	}
}
