package schema

import (
	"fmt"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// cascades are what a foreign key does to rows by itself: the engine does it on each side, and no row event says so.
var cascades = lazy.Regexp(`(?i)\bON\s+(DELETE|UPDATE)\s+(CASCADE|SET\s+NULL|SET\s+DEFAULT)\b`)

// constraintsGone are foreign keys and checks that go, or change.
func (j *judging) constraintsGone() []part {
	var out []part
	for _, c := range j.t.Before.Constraints {
		n := find(j.t.After.Constraints, c.Name)
		if n >= 0 && j.sameConstraint(c, j.t.After.Constraints[n]) {
			continue
		}
		drop, err := dropConstraint(c)
		p := part{class: Instant, clauses: []string{drop}, back: []string{"ADD " + c.Text}}
		switch {
		case err != nil || strings.HasPrefix(strings.ToUpper(c.Text), "PERIOD"):
			p.refused, p.noWay = "a constraint without a name, or a period, is not changed by swings", true
		case foreign().MatchString(mask(c.Text)) && cascades().MatchString(mask(c.Text)):
			p.noWay = true
			p.refused = fmt.Sprintf("foreign key %s deletes or changes rows, and no row event says so: without it those rows would stay on the altered side, without an error", c.Name)
		case foreign().MatchString(mask(c.Text)), j.around.MySQL:
			p.class = Directional // the altered side takes rows that the other would refuse
		}
		out = append(out, p)
	}
	return out
}

// sameConstraint reports whether a constraint is the same, under new names of its columns.
func (j *judging) sameConstraint(was, is Part) bool {
	if was.Text == is.Text {
		return true
	}
	if at := references().FindStringIndex(was.Text); at != nil { // names behind it are of another table
		return j.nowNamed(was.Text[:at[0]])+was.Text[at[0]:] == is.Text
	}
	return j.nowNamed(was.Text) == is.Text
}

var references = lazy.Regexp("\\bREFERENCES `")

// nowNamed gives the columns of a definition the names that they have after the change.
func (j *judging) nowNamed(text string) string {
	for from, to := range j.kept {
		text = strings.ReplaceAll(text, quoted(j.before[from].name), "`\x00"+strings.TrimPrefix(quoted(j.after[to].name), "`"))
	}
	return strings.ReplaceAll(text, "\x00", "")
}

// constraintsNew are foreign keys and checks that come, or are another.
func (j *judging) constraintsNew() []part {
	var out []part
	for _, c := range j.t.After.Constraints {
		n := find(j.t.Before.Constraints, c.Name)
		if n >= 0 && j.sameConstraint(j.t.Before.Constraints[n], c) {
			continue
		}
		drop, err := dropConstraint(c)
		p := part{class: Directional, clauses: []string{"ADD " + c.Text}, back: []string{drop}}
		switch {
		case err != nil || strings.HasPrefix(strings.ToUpper(c.Text), "PERIOD"):
			p.refused, p.noWay = "a constraint without a name, or a period, is not added by swings", true
		case foreign().MatchString(mask(c.Text)):
			p.noWay = true
			p.refused = fmt.Sprintf("foreign key %s: a row without its parent may be written on the other side, and replication would stop there", c.Name)
			if cascades().MatchString(mask(c.Text)) {
				p.refused += "; it would also delete or change rows on the altered side that stay on the other, without an error"
			}
		case j.around.MySQL:
			p.refused, p.noWay = fmt.Sprintf("check %s: whether an applier of MySQL holds rows of the other side against it was never tried", c.Name), true
		default:
			p.remarks = []string{fmt.Sprintf("rows that come through replication are not compared with check %s: if a client writes one that breaks it before the second side is altered, that ALTER is refused there and the change is taken back", c.Name)}
		}
		out = append(out, p)
	}
	return out
}

// optionClasses are the options of tables that Stowage knows. What is not in here is breaking.
var optionClasses = map[string]Class{
	"COMMENT": Instant, "STATS_PERSISTENT": Instant, "STATS_AUTO_RECALC": Instant, "STATS_SAMPLE_PAGES": Instant, "CHARSET": Instant, "COLLATE": Instant,
	"MAX_ROWS": Instant, "MIN_ROWS": Instant, "AVG_ROW_LENGTH": Instant, "CHECKSUM": Instant, "DELAY_KEY_WRITE": Instant, "PACK_KEYS": Instant,
	"ROW_FORMAT": Invisible, "KEY_BLOCK_SIZE": Invisible, "PAGE_COMPRESSED": Invisible, "PAGE_COMPRESSION_LEVEL": Invisible, "ENCRYPTED": Invisible, "ENCRYPTION_KEY_ID": Invisible,
	"ENCRYPTION": Invisible, "COMPRESSION": Invisible,
}

func (j *judging) options() []part {
	is, should := optionValues(j.t.Before.Options), optionValues(j.t.After.Options)
	var changed []string
	for n := range is {
		if should[n] != is[n] {
			changed = append(changed, n)
		}
	}
	for n := range should {
		if _, had := is[n]; !had {
			changed = append(changed, n)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	slices.Sort(changed)
	p := part{class: Unchanged}
	if is["ENGINE"] != should["ENGINE"] {
		changed = []string{"ENGINE"} // it brings options of its own
	}
	for _, n := range changed {
		c, known := optionClasses[n]
		switch {
		case n == "WITH SYSTEM VERSIONING":
			p.refused = "each side would begin its history at its own time, so the histories of both would differ"
		case n == "ENGINE":
			p.refused = fmt.Sprintf("another engine (%s to %s) is another server for this table: locks, crashes and foreign keys are not what they were", is[n], should[n])
		case !known:
			p.refused = "Stowage does not know what option " + n + " does to rows"
		case slices.Index(ranks, c) > slices.Index(ranks, p.class):
			p.class = c
		}
	}
	p.noWay = p.refused != ""
	if set, err := changeOptions(j.t.Before.Options, j.t.After.Options); err == nil {
		p.clauses = []string{set}
	} else {
		p.noWay = true
	}
	if back, err := changeOptions(j.t.After.Options, j.t.Before.Options); err == nil {
		p.back = []string{back}
	}
	return []part{p}
}

var (
	byHash   = lazy.Regexp(`(?i)\bPARTITION\s+BY\s+(LINEAR\s+)?(HASH|KEY)\b`)
	takesAll = lazy.Regexp(`(?i)\bVALUES\s+LESS\s+THAN\s+\(?MAXVALUE\b|\bPARTITION\s+(\S+\s+)?DEFAULT\b|^[^(]*\bPARTITION\s+BY\s+SYSTEM_TIME\b`)
	byRange  = lazy.Regexp(`(?i)\bPARTITION\s+BY\s+RANGE\b`)
	byBounds = lazy.Regexp(`(?i)\bPARTITION\s+BY\s+(RANGE|LIST)\b`)
)

// newPartitions are the quoted names of partitions that come.
func newPartitions(was, is string) []string {
	had := partitionNames(was)
	return slices.DeleteFunc(partitionNames(is), func(n string) bool { return slices.Contains(had, n) })
}

// partitionNames are the quoted names in PARTITION BY RANGE (...) (PARTITION a ..., PARTITION b ...), in lower case: partitions have no case.
func partitionNames(text string) []string {
	var out []string
	for {
		_, inside, after, ok := body(text)
		if !ok {
			return out
		}
		for _, p := range split(inside, ',') {
			if rest, is := cutWord(strings.TrimSpace(p), "PARTITION"); is {
				n, _ := name(rest)
				out = append(out, quoted(strings.ToLower(n)))
			}
		}
		text = after
	}
}

// hasAll reports whether partitions have a place for every row.
func hasAll(partitions string) bool {
	text := mask(partitions)
	return text == "" || byHash().MatchString(text) || takesAll().MatchString(text)
}

// partitioning: rows travel by their values, whatever part of the table they are in. What counts is whether each row has a place.
func (j *judging) partitioning() []part {
	was, is := j.t.Before.Partitions, j.t.After.Partitions
	if j.nowNamed(was) == is {
		return nil
	}
	does := map[string]bool{}
	for _, c := range j.clauses {
		does[c.does] = true
	}
	p := part{class: Invisible, partition: true, noWay: true}
	if !hasAll(was) {
		p.class = Directional // the altered side takes rows that the other would refuse
	}
	switch {
	case is == "":
		p.clauses, p.noWay = []string{"REMOVE PARTITIONING"}, false
	case does["partition by"]:
		p.clauses, p.noWay = []string{is}, false
	}
	switch {
	case was == "":
		p.back = []string{"REMOVE PARTITIONING"}
	case does["add partition"] && byBounds().MatchString(mask(is)):
		p.back, p.lost = []string{"DROP PARTITION " + strings.Join(newPartitions(was, is), ", ")}, "the rows of the new partitions"
	default: // the server moves each row, or refuses one that has no place
		p.back = []string{was}
	}
	switch text := mask(is); {
	case is == "":
	case strings.Contains(strings.ToUpper(text), "SUBPARTITION") && (was != "" || !does["partition by"]):
		p.refused, p.noWay = "subpartitions are not changed by swings", true
	case hasAll(is):
	case does["add partition"], does["reorganize partition"] && byRange().MatchString(text):
		p.class = Directional // the altered side takes rows that the other would refuse
	default:
		p.refused = "a row of the other side may have no partition, and replication would stop there; give it a partition for all other values (MAXVALUE, DEFAULT)"
		p.noWay = true
	}
	return []part{p}
}
