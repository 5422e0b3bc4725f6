package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// defining are the settings of a session that decide what a server makes of a definition that people wrote: "TIMESTAMP" is NOT NULL and follows the clock where explicit_defaults_for_timestamp is
// OFF, "utf8" is utf8mb4 where old_mode does not say otherwise, "x" is a name where sql_mode has ANSI_QUOTES.
var defining = []string{"sql_mode", "explicit_defaults_for_timestamp", "old_mode", "innodb_strict_mode", "character_set_collations", "default_collation_for_utf8mb4", "sql_require_primary_key",
	"sql_generate_invisible_primary_key", instantAllowed}

// instantAllowed is what a server of MariaDB may do without writing a table anew: never, add_last, add_drop_reorder. Sessions have no value of their own.
const instantAllowed = "innodb_instant_alter_column_allowed"

// definingZone decides what UNIX_TIMESTAMP of a text is, and which TIMESTAMP a constant is.
const definingZone = "time_zone"

// Defining are those settings, as new sessions of the server begin with them. What the server does not have is absent. time_zone is +00:00 where it is called UTC, or is that of a machine that has UTC.
func (s *Server) Defining(ctx context.Context) (map[string]string, error) {
	out, err := s.Variables(ctx, slices.Concat(defining, []string{definingZone, "system_time_zone"})...)
	if out[definingZone] == "UTC" || out[definingZone] == "SYSTEM" && out["system_time_zone"] == "UTC" {
		out[definingZone] = utc
	}
	delete(out, "system_time_zone")
	return out, err
}

const utc = "+00:00"

var fixedZone = lazy.Regexp(`^[-+]\d{1,2}:\d\d$`)

// IsFixedZone reports whether a time zone is a distance from UTC, the same at all times, which each server knows.
func IsFixedZone(zone string) bool { return fixedZone().MatchString(zone) }

// setDefining are the statements that give a session of a throw-away server of that series such settings, where now, its own, are others.
func setDefining(want, now map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value := want[name]; name != definingZone && value != now[name] { // TakeZone has set the zone
			scope := "SESSION "
			if name == instantAllowed {
				scope = "GLOBAL "
			}
			out = append(out, "SET "+scope+ident(name)+" = "+quote(value))
		}
	}
	return out
}

// cannotSet says which setting a server does not take from a session.
func cannotSet(statement string, err error) error {
	return fmt.Errorf("it does not take a setting of the farm's server (%s): %w", strings.TrimPrefix(strings.TrimPrefix(statement, "SET SESSION "), "SET GLOBAL "), err)
}
