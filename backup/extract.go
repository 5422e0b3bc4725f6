package backup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/backup/catalogue"
	"stowage/engine"
	"stowage/farm"
)

// Extract is one database out of a backup, or some of its tables, that goes into a pair as a database of another name.
type Extract struct {
	Schema string
	Tables []string      // empty: all
	As     string        // empty: ExtractName
	Into   farm.PairName // empty: the pair of the backup
	Side   farm.SideName // that is written to; empty: A, which is the primary where there is one
}

// extractOrder is what the part of a restored instance says of the database that is taken out of it.
type extractOrder struct {
	Schema string        `json:"schema"`
	Tables []string      `json:"tables,omitempty"`
	As     string        `json:"as"`
	Pair   farm.PairName `json:"pair"`
	// Ends are the sides of the pair; the first is written to, the others get the rows by replication.
	Ends   []extractEnd `json:"ends"`
	Reader uint32       `json:"reader"` // the server id under which the throw-away server's binary log is read
	Bytes  int64        `json:"bytes"`  // about; 0: not known
}

type extractEnd struct {
	Instance farm.InstanceName `json:"instance"`
	Address  string            `json:"address"`
	On       farm.HostName     `json:"on"`
	Datadir  string            `json:"datadir"`
}

// ExtractName is what a restored database is called where nobody says otherwise: SHARD_restored_20261120031200, the moment in this machine's time.
func ExtractName(schema string, b catalogue.Backup, u Until) string {
	at := u.Time
	switch {
	case u.isBackup():
		at = b.At
	case at.IsZero(): // a position, or the end of the archive
		at = time.Now()
	}
	return schema + "_restored_" + at.Local().Format("20060102150405")
}

// longestName is how many characters the name of a database may have.
const longestName = 64

// systemDatabases are the servers' own.
var systemDatabases = []string{"mysql", "information_schema", "performance_schema", "sys"}

// extractFor is the order of it, checked as far as nobody has to be asked.
func (a *Act) extractFor(e Extract, b catalogue.Backup, u Until, reader uint32) (*extractOrder, error) {
	bad := func(subject, hint, format string, args ...any) error {
		return &farm.Error{Op: "restore", Subject: subject, Err: fmt.Errorf("%w: %w", farm.ErrInput, fmt.Errorf(format, args...)), Hint: hint}
	}
	o := &extractOrder{Schema: e.Schema, Tables: e.Tables, As: e.As, Pair: e.Into, Reader: reader}
	if !b.IsPhysical() && !b.HasAll([]farm.ShardName{farm.ShardName(e.Schema)}) {
		return nil, bad(e.Schema, "name another backup: stowage backup list --json", "backup %s does not have it", b.ID)
	}
	if slices.Contains(systemDatabases, strings.ToLower(e.Schema)) {
		return nil, bad(e.Schema, "restore the whole instance: stowage restore "+string(b.Pair), "it is a system database")
	}
	if o.As == "" {
		o.As = ExtractName(e.Schema, b, u)
	}
	if slices.Contains(systemDatabases, strings.ToLower(o.As)) {
		return nil, bad(o.As, "name another: --as NAME", "it is a system database")
	}
	if n := len([]rune(o.As)); n > longestName || strings.HasSuffix(o.As, " ") {
		return nil, bad(o.As, "name another: --as NAME", "it cannot be the name of a database (it has %s; at most %d are allowed)", farm.Counted(n, "character"), longestName)
	}
	if o.Pair == "" {
		o.Pair = b.Pair
	}
	pair, ok := a.Farm.Pair(o.Pair)
	if !ok {
		return nil, bad(string(o.Pair), "stowage inventory lists them; name another: --into PAIR", "farm.yaml has no such pair")
	}
	side := e.Side
	if side == "" {
		side = farm.A
	}
	if _, ok := pair.Sides[side]; !ok || pair.Topology.HasOneWriter() && side != farm.A {
		return nil, bad(fmt.Sprintf("%s/%s", o.Pair, side), "name the pair alone: --into "+string(o.Pair), "the pair takes no writes on side %s", side)
	}
	for _, s := range pair.SideNames() {
		at := pair.Sides[s]
		end := extractEnd{pair.Instance(s), a.Farm.Address(at), at.Host, a.Workspace.Path(at.Datadir)}
		if s == side {
			o.Ends = slices.Insert(o.Ends, 0, end)
		} else {
			o.Ends = append(o.Ends, end)
		}
	}
	for _, p := range a.Farm.Pairs {
		for _, s := range p.Shards {
			if string(s.Name) == o.As {
				return nil, bad(o.As, "name another: --as NAME", "farm.yaml has a shard of that name, in pair %s", p.Name)
			}
			if string(s.Name) == o.Schema && len(o.Tables) == 0 {
				o.Bytes = int64(s.Needs[farm.Disk])
			}
		}
	}
	return o, nil
}

// holds are the tokens of a lane that writes to a pair: nobody else works on it meanwhile.
func (o *extractOrder) holds(job *engine.Job) (tokens []string) {
	if o == nil {
		return nil
	}
	tokens = []string{"pair " + string(o.Pair)}
	job.Budgets[tokens[0]] = 1
	return tokens
}

// name is that of the database and of its tables, for people.
func (o *extractOrder) name() string {
	if len(o.Tables) == 0 {
		return o.Schema
	}
	return fmt.Sprintf("%s of %s", farm.Some(o.Tables), o.Schema)
}
