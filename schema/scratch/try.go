package scratch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/mysql"
	"stowage/schema"
)

// Try carries a change out on empty tables like those of a shard, given as SHOW CREATE TABLE by name, and says what the server made of it: by which algorithm, the cheapest that it takes, and what the table
// reads like before and after. settings are those with which the server of the farm reads the statement (mysql.Server.Defining); nil: the throw-away server's own. A change that the server refuses, or of a table that is not there, is an error with its place (farm.ErrInput).
//
// What empty tables cannot say: whether rows fit, and what a server of the farm has used up (row versions of MySQL). Ask the real table with the same ALGORITHM clause, too.
func (s *Server) Try(ctx context.Context, tables map[string]string, change schema.Change, settings map[string]string) (schema.Tried, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	t := schema.Tried{Change: change}
	refused := func(format string, args ...any) error {
		return &farm.Error{Op: "try change", Subject: change.Place, Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrInput}, args...)...)}
	}
	if tables[change.Table] == "" {
		return t, refused("there is no table %s", change.Table)
	}
	if zone := settings["time_zone"]; zone != "" && !mysql.IsFixedZone(zone) && change.HasZonedBounds() {
		return t, refused("UNIX_TIMESTAMP of a text depends on the time zone, and the throw-away server does not know %s; write the number: SELECT UNIX_TIMESTAMP('...') on the server", zone)
	}
	if err := s.sql.TakeZone(ctx, settings); err != nil {
		return t, err
	}
	statements, database, checks := beside(tables, change)
	before, err := s.make(ctx, database, statements)
	if err != nil {
		return t, err
	}
	if t.Before, err = schema.Read(before[change.Table]); err != nil {
		return t, refused("table %s: %w", change.Table, err)
	}
	trials := s.trials(change)
	texts := make([]string, len(trials))
	for n, trial := range trials {
		texts[n] = trial.text
	}
	taken, err := s.sql.TryStatements(ctx, database, checks, strictly(settings, change), texts)
	if err != nil {
		return t, refused("the server (%s) refuses it: %w", s.Flavor, cause(err))
	}
	t.Algorithm, t.Online = trials[taken].algorithm, trials[taken].online
	after, err := s.sql.CreatedTables(ctx, []string{database})
	if err != nil {
		return t, err
	}
	if t.After, err = schema.Read(after[database][change.Table]); err != nil {
		return t, refused("table %s: %w", change.Table, err)
	}
	return t, s.sql.DropDatabase(ctx, database)
}

var rowFormat = lazy.Regexp(`(?i)\b(ROW_FORMAT|KEY_BLOCK_SIZE)\b`)

// strictly has another row format refused where the longest row would not fit it, on farms that allow that, too: a row that the other side takes would stop replication.
func strictly(settings map[string]string, change schema.Change) map[string]string {
	if settings["innodb_strict_mode"] != "OFF" || !rowFormat().MatchString(change.Text) {
		return settings
	}
	out := maps.Clone(settings)
	out["innodb_strict_mode"] = "ON"
	return out
}

// trial is one way to ask for a change.
type trial struct {
	text      string
	algorithm schema.Algorithm
	online    bool
}

// trials are all ways, from the cheapest, each without and then with clients locked out. Changes of partitions are asked once: servers accept INSTANT for them and copy all rows.
func (s *Server) trials(change schema.Change) []trial {
	mariadb := s.Flavor.Vendor == "MariaDB"
	if algorithm, partitions := change.Partitions(); partitions {
		return []trial{{change.With("", "", -1, mariadb), algorithm, false}}
	}
	var out []trial
	for _, a := range schema.Algorithms(mariadb) {
		if a == schema.InstantAlgorithm {
			out = append(out, trial{change.With(a, "", -1, mariadb), a, true})
			continue
		}
		out = append(out, trial{change.With(a, "NONE", -1, mariadb), a, true}, trial{change.With(a, "", -1, mariadb), a, false})
	}
	return out
}

var (
	references = lazy.Regexp("(?i)\\bREFERENCES\\s+(?:`?((?:[^`\\s.(]|``)+)`?\\s*\\.\\s*)?`?((?:[^`\\s.(]|``)+)`?")
	nextval    = lazy.Regexp("(?i)\\bnextval\\(`((?:[^`]|``)+)`\\.")
	sequence   = lazy.Regexp(`^CREATE SEQUENCE |^CREATE TABLE (?s:.*)\) ENGINE=\w+ SEQUENCE=1`)
)

// beside are the tables that a change of one touches: itself, those to which its foreign keys lead, or shall lead, those from which some lead to it, and all sequences. Defaults name their sequence with
// its database, so the database is called like that. checks is false where a foreign key leads to a table that is not given: with checks the server would refuse any change.
func beside(tables map[string]string, change schema.Change) (statements []Statement, database string, checks bool) {
	database, checks = "scratch", true
	wanted := map[string]bool{change.Table: true}
	for name, text := range tables {
		if sequence().MatchString(text) {
			wanted[name] = true
		}
		if name == change.Table {
			text += " " + change.Text
			if m := nextval().FindStringSubmatch(text); m != nil {
				database = strings.ReplaceAll(m[1], "``", "`")
			}
		}
		for _, r := range references().FindAllStringSubmatch(text, -1) {
			to := strings.ReplaceAll(r[2], "``", "`")
			switch {
			case name == change.Table && (r[1] != "" || tables[to] == ""):
				checks = false
			case name == change.Table:
				wanted[to] = true
			case to == change.Table && r[1] == "":
				wanted[name] = true
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(wanted), func(a, b string) int { // sequences first: defaults name them
		if as, bs := sequence().MatchString(tables[a]), sequence().MatchString(tables[b]); as != bs {
			return map[bool]int{true: -1, false: 1}[as]
		}
		return strings.Compare(a, b)
	})
	for _, n := range names {
		statements = append(statements, Statement{n, tables[n], change.Place})
	}
	return statements, database, checks
}
