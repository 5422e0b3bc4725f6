package catalogue

import (
	"fmt"
	"slices"
	"time"

	"stowage/farm"
)

// sayings collects findings: one line for what is wrong with many pairs.
type sayings struct {
	order []string
	by    map[string]*saying
}

type saying struct {
	farm.Finding        // of one pair
	many         string // the text of many: their names follow
	names, texts []string
}

func newSayings() *sayings { return &sayings{by: map[string]*saying{}} }

// say is one thing that is wrong with one pair.
func (s *sayings) say(check string, severity farm.Severity, pair farm.PairName, text, many, remedy string) {
	if s.by[check] == nil {
		s.order = append(s.order, check)
		s.by[check] = &saying{Finding: farm.Finding{Check: check, Severity: severity, Remedy: remedy}, many: many}
	}
	x := s.by[check]
	x.names, x.texts = append(x.names, string(pair)), append(x.texts, text)
}

// list are the findings, the most severe first.
func (s *sayings) list() []farm.Finding {
	out := []farm.Finding{}
	for _, check := range s.order {
		x := s.by[check]
		f := x.Finding
		f.Subject, f.Text = x.names[0], x.texts[0]
		if names := slices.Compact(slices.Clone(x.names)); len(names) > 1 {
			f.Subject = farm.Counted(len(names), "pair")
			f.Text, f.Names = fmt.Sprintf("%s: %s", x.many, farm.Some(names)), names
			if len(slices.Compact(slices.Clone(x.texts))) > 1 { // each pair's has figures or names of its own
				f.Text += "; of the first: " + x.texts[0]
			}
		} else if len(x.texts) > 1 {
			f.Text = fmt.Sprintf("%s; and %d more", x.texts[0], len(x.texts)-1)
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b farm.Finding) int { return graveness(b) - graveness(a) })
	return out
}

func graveness(f farm.Finding) int {
	return slices.Index([]farm.Severity{farm.Note, farm.Warning, farm.Blocker}, f.Severity)
}

// backups: is there one, how old is it, and was it ever restored?
func (s *sayings) backups(now time.Time, cfg farm.Backup, p PairStatus, chains []Chain) {
	for _, c := range chains {
		for _, b := range c.Broken {
			s.say("backup-damaged", farm.Warning, p.Pair, fmt.Sprintf("backup %s cannot be restored: %s", b.ID, b.Why), "some of their backups cannot be restored",
				"take a new full backup: stowage backup run; check the disk or repository of the old one; stowage backup prune removes it later")
		}
	}
	if p.Newest == nil && p.Logical != nil {
		s.say("backup-none", farm.Warning, p.Pair, fmt.Sprintf("it has logical backups only: its shards can be restored as of %s, to no other moment", p.Logical.ID),
			"they have logical backups only, and cannot be restored to other moments", "stowage backup run")
		return
	}
	if p.Newest == nil {
		s.say("backup-none", farm.Blocker, p.Pair, "it has no backup that can be restored", "they have no backup that can be restored", "stowage backup run")
		return
	}
	every := cfg.Incremental
	if every < 0 {
		every = cfg.Full
	}
	if age := now.Sub(p.Newest.At); every > 0 && age > late(every) {
		s.say("backup-old", farm.Warning, p.Pair, fmt.Sprintf("its newest backup is %s old, and farm.yaml asks for one every %s", inDays(age), inDays(every)),
			"their newest backups are older than farm.yaml asks for", "take one: stowage backup run; stowage runs shows how the last one ended")
	} else if age < -ahead {
		s.say("backup-clock", farm.Warning, p.Pair, fmt.Sprintf("backup %s is dated %s, in the future", p.Newest.ID, p.Newest.At.UTC().Format(time.DateTime)),
			"their newest backups are dated in the future", "correct the clock of this machine, or of the host that made the backup; until then nothing of the pair is pruned")
	}
	s.proven(cfg, p)
}

// proven: a backup that was never restored is a hope.
func (s *sayings) proven(cfg farm.Backup, p PairStatus) {
	const remedy = "stowage backup verify"
	switch p.Stand(cfg) {
	case Unproven:
		s.say("backup-unproven", farm.Warning, p.Pair, "no backup of it was ever restored and compared", "no backup of them was ever restored and compared", remedy)
	case Late:
		age := time.Duration(*p.ProvenAge * float64(time.Second))
		s.say("backup-unproven", farm.Warning, p.Pair, fmt.Sprintf("a backup of it was last restored and compared %s ago, and farm.yaml asks for that every %s", inDays(age), inDays(cfg.Verify)),
			"no backup of them was restored and compared lately", remedy)
	}
}

// place: a backup on the disk of the server it is of goes with it.
func (s *sayings) place(p PairStatus) {
	b := p.Newest
	if b == nil || b.Host != b.On || b.Place.Dir == "" && !isLocal(b.Place.Restic) {
		return
	}
	s.say("backup-place-own-host", farm.Warning, p.Pair, fmt.Sprintf("its newest backup, %s, is on host %s, where its server is", b.ID, b.Host), "their newest backups are on the hosts of their servers",
		"let backup in farm.yaml name another host, or a restic repository elsewhere")
}

// isLocal: a repository that is a directory.
func isLocal(repository string) bool { return repository != "" && repository[0] == '/' }

// binlogs: up to which second can the pair be restored?
func (s *sayings) binlogs(now time.Time, cfg farm.Backup, p PairStatus, chains []Chain, logs []Archived) {
	var until, begins time.Time
	for _, a := range logs {
		if p.Newest != nil && a.Instance != p.Newest.Instance {
			continue // that log continues another backup
		}
		if a.From.After(p.Newest.At) { // RESET MASTER, or a server that was made anew
			begins = a.From
			continue
		}
		if a.Until.After(until) {
			until = a.Until
		}
	}
	// A run of the archive that is a little late is no news.
	allowed := max(3*cfg.Binlogs, 5*time.Minute)
	const remedy = "stowage backup binlogs --follow archives them as they are written; servers purge their own after binlog_expire_logs_seconds"
	switch behind := now.Sub(until); {
	case until.IsZero() && !begins.IsZero():
		s.say("binlogs-gap", farm.Warning, p.Pair, fmt.Sprintf("the archived binary log of %s begins at %s, after backup %s: no moment after that backup can be restored", p.Newest.Instance, begins.UTC().Format(time.DateTime), p.Newest.ID),
			"their archived binary logs begin after their newest backups", "stowage backup run begins again; RESET MASTER, or a server that was made anew, begins a log anew")
	case until.IsZero():
		s.say("binlogs-behind", farm.Warning, p.Pair, "no binary log of it is archived: it can be restored only to the moments of its backups", "no binary log of some of them is archived, or the archive is behind", remedy)
	case behind > allowed:
		s.say("binlogs-behind", farm.Warning, p.Pair, fmt.Sprintf("the archive of its binary logs is %s behind", inDays(behind)), "the archive of their binary logs is behind", remedy)
	}
	for _, a := range logs {
		for _, g := range a.Gaps {
			if !lost(g, logs) || !slices.ContainsFunc(chains, func(c Chain) bool {
				return slices.ContainsFunc(c.Restorable(), func(b Backup) bool { return !has(b.GTID, g.Next) })
			}) {
				continue // another archive has it, or all backups are from behind it
			}
			s.say("binlogs-gap", farm.Warning, p.Pair, fmt.Sprintf("the archive of %s's binary log does not have the %s", a.Instance, g),
				"some of their binary logs are missing", "moments in the gap cannot be restored; stowage backup run begins again after it")
		}
	}
}
