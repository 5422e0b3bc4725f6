package schema

import (
	"fmt"
	"strings"

	"stowage/internal/lazy"
)

// Algorithm is how a server carries out an ALTER TABLE, from the cheapest.
type Algorithm string

const (
	InstantAlgorithm Algorithm = "instant" // definitions only
	NoCopy           Algorithm = "nocopy"  // indexes are built, rows stay where they are; MariaDB only
	InPlace          Algorithm = "inplace" // rows may be written anew, by the engine
	Copy             Algorithm = "copy"    // rows are copied into a new table, one by one
)

// Algorithms are all of them, in the order in which a server is asked.
func Algorithms(mariadb bool) []Algorithm {
	if mariadb {
		return []Algorithm{InstantAlgorithm, NoCopy, InPlace, Copy}
	}
	return []Algorithm{InstantAlgorithm, InPlace, Copy}
}

// With is the statement with the algorithm, the lock ("NONE", "SHARED", ...; "" lets the server choose) and the seconds to wait for a metadata lock (below 0: none said) put where
// servers want them: in front of the clauses, because PARTITION BY and REMOVE PARTITIONING end a statement. MySQL has no WAIT: set lock_wait_timeout there. ADD, DROP, REORGANIZE and COALESCE
// PARTITION take neither algorithm nor lock in MariaDB (tried on 10.11): both are left out.
func (c Change) With(algorithm Algorithm, lock string, wait int, mariadb bool) string {
	var b strings.Builder
	b.WriteString("ALTER TABLE " + quoted(c.Table))
	if mariadb && wait >= 0 {
		fmt.Fprintf(&b, " WAIT %d", wait)
	}
	body := c.body()
	if !c.takesAlgorithm() {
		return b.String() + " " + body
	}
	var how []string
	if algorithm != "" {
		how = append(how, "ALGORITHM="+strings.ToUpper(string(algorithm)))
	}
	if lock != "" && (mariadb || algorithm != InstantAlgorithm) { // MySQL refuses LOCK beside INSTANT
		how = append(how, "LOCK="+strings.ToUpper(lock))
	}
	if len(how) > 0 {
		b.WriteString(" " + strings.Join(how, ", "))
		if m := trailing().FindStringIndex(outside(body)); m == nil || m[0] > 0 {
			b.WriteString(",")
		}
	}
	return b.String() + " " + body
}

// takesAlgorithm is false for partition clauses that take none.
func (c Change) takesAlgorithm() bool {
	for _, x := range clausesOf(c.body()) {
		switch x.does {
		case "add partition", "drop partition", "reorganize partition", "coalesce partition":
			return false
		}
	}
	return true
}

// Partitions reports whether a change is one of partitions, and what it costs: servers accept ALGORITHM=INSTANT for PARTITION BY and copy all rows (100,000 of them on MariaDB 10.11).
func (c Change) Partitions() (Algorithm, bool) {
	cost, is := Algorithm(""), false
	for _, x := range clausesOf(c.body()) {
		if !strings.Contains(x.does, "partition") {
			continue
		}
		if is = true; x.does != "add partition" {
			cost = Copy
		} else if cost == "" {
			cost = InPlace
		}
	}
	return cost, is
}

var unixTimestamp = lazy.Regexp(`(?i)\bUNIX_TIMESTAMP\s*\(`)

// HasZonedBounds reports whether a bound of a partition is UNIX_TIMESTAMP of anything but a column: the server writes the number that it is in its own time zone.
func (c Change) HasZonedBounds() bool {
	if _, is := c.Partitions(); !is {
		return false
	}
	for _, m := range unixTimestamp().FindAllStringIndex(maskText(c.Text), -1) {
		_, inside, _, _ := body(c.Text[m[0]:])
		inside = strings.TrimSpace(inside)
		column, rest := named(inside)
		if column == "" || strings.TrimSpace(rest) != "" || strings.IndexByte("\"0123456789", inside[0]) >= 0 {
			return true
		}
	}
	return false
}
