package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/vault"
)

// Server is an instance as it stands now, and where its backups go now.
type Server struct {
	Farm     string
	Instance farm.InstanceName
	On       farm.HostName // where its data is, as Datadir
	Datadir  string
	ServerID uint32
	Version  string
	Whole    bool   // it has no incremental backups, as MySQL has none
	LSN      uint64 // up to which its redo log is written; 0: not known
	IsOther  bool   // its binary log is not the one that its newest backup stands in: it was made anew

	Host  farm.HostName // where the vault is
	Place vault.Place
}

// Turn is the backup that an instance is to have next.
type Turn struct {
	Kind Kind   `json:"kind"`
	Base string `json:"base,omitempty"` // of an incremental one; of a full one, what an incremental one in its place could be based on, "" for none
	// Since is the LSN from which an incremental one takes pages.
	Since uint64    `json:"since_lsn,omitempty"`
	Due   bool      `json:"due"`
	Next  time.Time `json:"next"` // when it is due; zero: never, as farm.yaml has it
	Why   string    `json:"why"`
}

// Next says which backup an instance is to have next, and whether it is due. all may hold backups of others. Backups that are in the future, because a clock
// was wrong, count as none: backups go on.
func Next(now time.Time, cfg farm.Backup, s Server, all []Backup) Turn {
	cfg = cfg.Filled()
	var mine []Backup
	for _, b := range Physical(all) {
		if b.Farm == s.Farm && b.Instance == s.Instance && !b.Began.After(now.Add(ahead)) {
			mine = append(mine, b)
		}
	}
	full := func(why string) Turn {
		return Turn{Kind: Full, Due: cfg.Full > 0, Next: now, Why: why}.orNever(cfg).whole(s.Whole)
	}
	chains := Chains(mine)
	if len(chains) == 0 {
		return full("there is no backup of it")
	}
	c := chains[len(chains)-1]
	last := c.Newest()
	first := c.Backups[0]
	if why := s.begins(c, last); why != "" {
		return full(why)
	}
	since := now.Sub(first.Began)
	switch {
	case cfg.Full > 0 && since >= cfg.Full-slack(cfg.Full):
		return full(fmt.Sprintf("the full backup is %s old", inDays(since)))
	case cfg.Incremental < 0:
		return Turn{Kind: Full, Base: last.ID, Since: last.ToLSN, Next: first.Began.Add(cfg.Full), Why: fmt.Sprintf("the full backup is %s old", inDays(since))}.orNever(cfg).whole(s.Whole)
	}
	since = now.Sub(last.Began)
	next := last.Began.Add(cfg.Incremental)
	t := Turn{Kind: Incremental, Base: last.ID, Since: last.ToLSN, Due: since >= cfg.Incremental-slack(cfg.Incremental), Next: next, Why: fmt.Sprintf("the last backup is %s old", inDays(since))}
	if at := first.Began.Add(cfg.Full); cfg.Full > 0 && !t.Due && at.Before(next) {
		t.Kind, t.Next = Full, at
		return t.whole(s.Whole)
	}
	if t.Due {
		t.Next = now
	}
	return t.whole(s.Whole)
}

// whole makes it a full one at the time of an incremental one, where there are no such.
func (t Turn) whole(is bool) Turn {
	if is {
		t.Kind, t.Base, t.Since, t.Why = Full, "", 0, t.Why+", and MySQL has no incremental backups"
	}
	return t
}

// orNever: full backups are off.
func (t Turn) orNever(cfg farm.Backup) Turn {
	if cfg.Full < 0 {
		t.Due, t.Next = false, time.Time{}
	}
	return t
}

// begins says why a new chain has to begin; empty: the one there is goes on from its newest backup.
func (s Server) begins(c Chain, last Backup) string {
	switch {
	case !c.IsWhole():
		return fmt.Sprintf("backup %s cannot be restored: %s", c.Broken[0].ID, c.Broken[0].Why)
	case last.On != s.On || last.Datadir != s.Datadir:
		return fmt.Sprintf("its data is in %s on %s, and was in %s on %s", s.Datadir, s.On, last.Datadir, last.On)
	case last.ServerID != s.ServerID:
		return fmt.Sprintf("its server_id is %d, and was %d: it is another server", s.ServerID, last.ServerID)
	case s.IsOther:
		return "its binary log is not the one of the last backup: its data was replaced"
	case s.LSN > 0 && s.LSN < last.ToLSN:
		return fmt.Sprintf("it is at LSN %d, before the last backup's %d: its data was replaced", s.LSN, last.ToLSN)
	case Series(last.Version) != Series(s.Version):
		return fmt.Sprintf("its server is %s, and was %s", s.Version, last.Version)
	case last.Host != s.Host || last.Place.Dir != s.Place.Dir || last.Place.Restic != s.Place.Restic:
		return "backups now go to another place"
	}
	return ""
}

// Series is 10.11 of 10.11.19-MariaDB.
func Series(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// ahead is how far in the future a backup may stand: clocks of two machines differ.
const ahead = time.Hour

// slack is what a backup may be early, so that a timer that comes a little early does not miss it.
func slack(every time.Duration) time.Duration { return min(2*time.Minute, max(0, every)/20) }

// inDays is an age for people.
func inDays(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return farm.Counted(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return farm.Counted(int(d/time.Hour), "hour")
	}
	return farm.Counted(int(d/(24*time.Hour)), "day")
}

// Of are the backups of one pair.
func Of(all []Backup, f string, pair farm.PairName) []Backup {
	return slices.DeleteFunc(slices.Clone(all), func(b Backup) bool { return b.Farm != f || b.Pair != pair })
}
