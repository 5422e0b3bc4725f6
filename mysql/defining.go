package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// defining are the settings of a session that decide what a server makes of a definition that people wrote: "TIMESTAMP" is NOT NULL and follows the clock where explicit_defaults_for_timestamp is
// OFF, "utf8" is utf8mb4 where old_mode does not say otherwise, "x" is a name where sql_mode has ANSI_QUOTES.
var defining = []string{"sql_mode", "explicit_defaults_for_timestamp", "old_mode", "innodb_strict_mode", "character_set_collations", "default_collation_for_utf8mb4", "sql_require_primary_key",
	"sql_generate_invisible_primary_key"}

// Defining are those settings, as new sessions of the server begin with them. What the server does not have is absent.
func (s *Server) Defining(ctx context.Context) (map[string]string, error) {
	return s.Variables(ctx, defining...)
}

// setDefining are the statements that give a session of another server of that series such settings, where now, its own, are others.
func setDefining(want, now map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value := want[name]; value != now[name] {
			out = append(out, "SET SESSION "+ident(name)+" = "+quote(value))
		}
	}
	return out
}

// cannotSet says which setting a server does not take from a session.
func cannotSet(statement string, err error) error {
	return fmt.Errorf("it does not take a setting of the farm's server (%s): %w", strings.TrimPrefix(statement, "SET SESSION "), err)
}
