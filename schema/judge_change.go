package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Class is what a change means for a pair whose two sides have it one after the other.
type Class string

const (
	// Unchanged: the table is as the change wants it.
	Unchanged Class = "unchanged"
	// Instant: only definitions change, and rows travel both ways while one side has it: done on each side, with a short wait for locks. A DEFAULT is among them: row events carry every
	// value, so both sides have the same rows; a client that leaves the column out gets the old or the new default for a moment, as it would at any change.
	Instant Class = "instant"
	// Invisible: rows travel both ways, but the server works for a while: a side leaves, is altered, comes back.
	Invisible Class = "invisible"
	// Directional: rows travel from the old shape to the new only, or clients would see both. Also what is cheap for the server: with two sides in rotation, a value that a client writes into a
	// column that the other side does not have yet is lost there, without an error.
	Directional Class = "directional"
	// Breaking: rows of the other side would be refused, or be other rows.
	Breaking Class = "breaking"
)

var ranks = []Class{Unchanged, Instant, Invisible, Directional, Breaking}

// Tried is what a server made of a change (schema/scratch).
type Tried struct {
	Change        Change
	Before, After Table
	Algorithm     Algorithm // the cheapest that the server took
	Online        bool      // it took LOCK=NONE with it: clients may write meanwhile
}

// Object is a trigger, a view, a routine or an event, with the text that its server keeps.
type Object struct {
	Name string // database.name
	Text string
}

// Around is what is around a table on its server, and what that server does in its own way.
type Around struct {
	Table        string   // database.table
	Triggers     []Object // of the table, and those of other tables that name it
	Views        []Object
	Routines     []Object
	Events       []Object
	ReferencedBy []string // tables with a foreign key onto this one, database.table

	MapsByName    bool // row events are matched by column names (MariaDB from 12.3 on, with binlog_row_metadata=FULL): what is known here was tried by position
	MinimalImages bool // binlog_row_image is not FULL: rows are looked for by the key of the side that wrote, and a value that was left out becomes the default of the side that applies
	RunsTriggers  bool // slave_run_triggers_for_rbr: the applier runs triggers
	MySQL         bool // what an applier of MySQL does was read and not tried: no mixture of new columns and longer types, no unsigned type becomes longer, CHECKs are taken as checked
}

// Judgement is what a change means.
type Judgement struct {
	Class       Class     `json:"class"`
	Algorithm   Algorithm `json:"algorithm"`
	Instant     bool      `json:"instant"`     // cheap for the server, whatever the class is: on a pair with one writer an ordinary ALTER through the binary log does it
	Conversions bool      `json:"conversions"` // the held side applies rows of the old shape only with slave_type_conversions=ALL_NON_LOSSY
	Refused     []string  `json:"refused"`     // why it is breaking, a sentence each
	SafeSteps   []string  `json:"safe_steps"`  // ALTER statements that lead there, each judged safe for itself, in order; nil when there is no way by ALTER alone
	Remarks     []string  `json:"remarks"`
	Undo        string    `json:"undo"` // the ALTER that takes it back and loses nothing; "" when there is none
	Lost        string    `json:"lost"` // what a way back would lose; "" when Undo is there
	// UndoRefused is why alter does not carry Undo out once clients have written rows of the new shape: one of them may not fit. "" where it does.
	UndoRefused string `json:"undo_refused,omitempty"`
	// Reverse makes the old definition of the new, whatever becomes of values: Undo where there is one. It gives a run up before clients have written rows of the new shape. "": no statement of ours does it.
	Reverse string `json:"reverse,omitempty"`
	// KeysApart: the keys of the table go before its rows are copied, and are built again afterwards, because that is faster: see KeysApart.
	KeysApart bool `json:"keys_apart,omitempty"`
}

// part is one difference that a change makes, judged for itself.
type part struct {
	class       Class
	conversions bool
	refused     string   // a sentence
	clauses     []string // that make this difference alone; a statement for each
	noWay       bool     // and none does it safely
	remarks     []string
	back        []string // clauses that give the old definition back
	lost        string   // values that they would not give back
	partition   bool     // its clause ends a statement
	beside      string   // the new column with which it comes in one statement: a unique key that rows of the other side have NULL in
	ofRows      bool     // it is a difference of columns
}

// JudgeChange says what a change means. It knows what it allows; all else is breaking.
func JudgeChange(t Tried, around Around) Judgement {
	out := judgeThere(t, around)
	if out.Undo != "" {
		out.UndoRefused = refusedBack(t, out.Undo, around)
	}
	return out
}

// refusedBack is what alter says to a way back.
func refusedBack(t Tried, undo string, around Around) string {
	all, err := Changes("undo", []byte(undo))
	if err != nil {
		return err.Error()
	}
	back := judgeThere(Tried{Change: all[0], Before: t.After, After: t.Before, Algorithm: t.Algorithm}, around)
	return strings.Join(back.Refused, "; ")
}

// judgeThere is JudgeChange without a look at the way back.
func judgeThere(t Tried, around Around) Judgement {
	j := judging{t: t, around: around, clauses: clausesOf(t.Change.body())}
	j.readColumns()
	var parts []part
	for _, rule := range []func() []part{j.unknown, j.partitioning, j.constraintsGone, j.keysGone, j.columnsGone, j.columnsMoved, j.columnsChanged, j.columnsNew, j.keysNew, j.constraintsNew, j.options, j.rebuilt} {
		parts = append(parts, rule()...)
	}
	_, partitions := t.Change.Partitions()
	out := Judgement{Class: Unchanged, Algorithm: t.Algorithm, Instant: t.Algorithm == InstantAlgorithm && !partitions, Refused: []string{}, Remarks: []string{}}
	for _, p := range parts {
		if p.refused != "" {
			p.class = Breaking
			out.Refused = append(out.Refused, p.refused)
		}
		if slices.Index(ranks, p.class) > slices.Index(ranks, out.Class) {
			out.Class = p.class
		}
		out.Conversions = out.Conversions || p.conversions
		out.Remarks = append(out.Remarks, p.remarks...)
	}
	if out.Class == Instant && !out.Instant {
		out.Class = Invisible
	}
	out.Refused = append(out.Refused, j.together(parts, out)...)
	surrounded := j.surrounded(parts, out)
	if len(out.Refused) > 0 {
		out.Class = Breaking
	}
	if out.Class == Breaking && len(surrounded) == 0 {
		out.SafeSteps = j.safeSteps(parts)
	}
	if len(surrounded) > 0 {
		out.Class, out.Refused = Breaking, append(out.Refused, surrounded...)
	}
	if out.Class == Breaking {
		out.Conversions = false
		return out
	}
	if out.Class != Unchanged {
		out.Remarks = append(out.Remarks, j.remarks(out)...)
		if out.Reverse, out.Lost = j.back(parts); out.Lost == "" {
			out.Undo = out.Reverse
		}
		if around.MySQL && t.Algorithm == Copy && len(around.ReferencedBy) == 0 {
			_, out.KeysApart = KeysApart(t.Change, t.Before, t.After)
		}
	}
	return out
}

// judging is one change while it is judged.
type judging struct {
	t       Tried
	around  Around
	clauses []clause

	before, after []column
	source        []int        // of each column of after: its place in before, -1 for a new one
	kept          map[int]int  // place in before -> place in after
	fresh         map[int]bool // places in after of new columns
}

// readColumns finds out which column of before each column of after is. Row events know columns by their place only, an ALTER knows them by name.
func (j *judging) readColumns() {
	for _, p := range j.t.Before.Columns {
		j.before = append(j.before, columnOf(p, j.t.Before.Options))
	}
	was, dropped, added := map[string]string{}, map[string]bool{}, map[string]bool{} // by lower-case names
	for _, c := range j.clauses {
		switch name := strings.ToLower(c.name); c.does {
		case "rename column", "change column":
			was[strings.ToLower(c.to)] = name
		case "drop column":
			dropped[name] = true
		case "add column":
			added[name] = true
		}
	}
	j.kept, j.fresh = map[int]int{}, map[int]bool{}
	for n, p := range j.t.After.Columns {
		c := columnOf(p, j.t.After.Options)
		name := strings.ToLower(c.name)
		source := find(j.t.Before.Columns, name)
		if from, is := was[name]; is {
			source = find(j.t.Before.Columns, from)
		} else if dropped[name] && added[name] {
			source = -1 // another column of the same name
		} else if source >= 0 && renamedAway(was, name) {
			source = -1
		}
		j.after, j.source = append(j.after, c), append(j.source, source)
		if source >= 0 {
			j.kept[source] = n
		} else {
			j.fresh[n] = true
		}
	}
}

// renamedAway reports whether another column got the values of this one.
func renamedAway(was map[string]string, name string) bool {
	for to, from := range was {
		if from == name && to != name {
			return true
		}
	}
	return false
}

// unknown are clauses that Stowage does not know, and those whose effect is not in the definition.
func (j *judging) unknown() []part {
	var out []part
	for _, c := range j.clauses {
		switch c.does {
		case "":
			out = append(out, part{refused: fmt.Sprintf("Stowage does not know what %q does to rows", firstOf(c.text)), noWay: true})
		case "drop partition":
			out = append(out, part{refused: "rows of that partition would be gone on one side while clients change them on the other", noWay: true})
		}
	}
	return out
}

func firstOf(text string) string {
	f := strings.Fields(text)
	if len(f) > 4 {
		return strings.Join(f[:4], " ") + " ..."
	}
	return strings.Join(f, " ")
}

// rebuilt is what leaves the definition as it was.
func (j *judging) rebuilt() []part {
	if j.t.Before.Text != j.t.After.Text {
		return nil
	}
	var out []part
	for _, c := range j.clauses {
		masked := strings.ToUpper(mask(c.text))
		switch {
		case c.does == "force", c.does == "option" && strings.Contains(masked, "ENGINE"):
			out = append(out, part{class: Invisible, clauses: []string{"FORCE"}})
		case c.does == "option" && strings.Contains(masked, "AUTO_INCREMENT"):
			out = append(out, part{class: Instant, clauses: []string{c.text}, remarks: []string{"the counter of AUTO_INCREMENT is no part of a definition: it is not put back"}})
		}
	}
	return out
}

// together are reasons that no part has by itself.
func (j *judging) together(parts []part, out Judgement) []string {
	var why []string
	if len(j.fresh) > 0 && len(j.kept) < len(j.before) {
		why = append(why, "columns are dropped and added in one step: a value of a dropped column would become one of a new column, for row events match columns by their place")
	}
	if j.around.MinimalImages && slices.ContainsFunc(parts, func(p part) bool { return p.ofRows }) {
		why = append(why, "binlog_row_image is not FULL: a value that a client leaves out is not in the row event, and each side would take its own default; SET GLOBAL binlog_row_image=FULL first")
	}
	if j.around.MapsByName && out.Class == Directional {
		why = append(why, "this server matches the columns of row events by name (binlog_row_metadata=FULL): two shapes were never tried on it; SET GLOBAL binlog_row_metadata=NO_LOG first")
	}
	if j.around.MySQL && out.Conversions && len(j.before) != len(j.after) {
		why = append(why, "MySQL wants as many columns on both sides where a type becomes longer")
	}
	if j.around.RunsTriggers && out.Class == Directional && len(j.around.Triggers) > 0 {
		why = append(why, "slave_run_triggers_for_rbr is on, so triggers of the altered table would run for rows of the other side")
	}
	return why
}

// safeSteps are a statement for each part; nil where one part has no safe way.
func (j *judging) safeSteps(parts []part) []string {
	var out []string
	for _, p := range parts {
		if p.noWay {
			return nil
		}
		if n := slices.IndexFunc(out, func(s string) bool { return p.beside != "" && strings.Contains(s, " ADD COLUMN "+quoted(p.beside)+" ") }); n >= 0 {
			out[n] += ", " + unwrapped(p.clauses[0])
			continue
		}
		for _, c := range p.clauses {
			out = append(out, "ALTER TABLE "+quoted(j.t.After.Name)+" "+unwrapped(c))
		}
	}
	if len(out) == 1 && out[0] == j.t.Change.Text || j.around.MapsByName || j.around.RunsTriggers || j.around.MinimalImages {
		return nil
	}
	return out
}

// back is the way back, the parts in reverse, and what it would lose.
func (j *judging) back(parts []part) (statement, lost string) {
	var clauses, losses []string
	last, whole := "", true
	for _, p := range slices.Backward(parts) {
		switch {
		case p.lost != "":
			losses = append(losses, p.lost)
		case len(p.back) == 0:
			losses = append(losses, "nothing, but no statement restores what was there")
		}
		switch {
		case len(p.back) == 0:
			whole = false
		case p.partition:
			last = p.back[0]
		default:
			clauses = append(clauses, p.back...)
		}
	}
	slices.Reverse(losses)
	lost = strings.Join(slices.Compact(losses), "; ")
	if lost != "" && (!whole || !j.renames()) { // Alter sees other words for the same, too, and takes a renamed column for one that goes and one that comes
		if byText, err := Alter(j.t.After, j.t.Before); err == nil {
			return byText, lost
		}
	}
	if !whole {
		return "", lost
	}
	all := slices.DeleteFunc([]string{"ALTER TABLE " + quoted(j.t.After.Name), strings.Join(clauses, ", "), last}, func(s string) bool { return s == "" })
	return unwrapped(strings.Join(all, " ")), lost
}

// renames reports whether a column has another name afterwards.
func (j *judging) renames() bool {
	for from, to := range j.kept {
		if j.before[from].name != j.after[to].name {
			return true
		}
	}
	return false
}

// remarks are what is worth knowing of a change that is no refusal.
func (j *judging) remarks(out Judgement) []string {
	var r []string
	if find(j.t.Before.Keys, "PRIMARY KEY") < 0 && out.Class == Directional {
		r = append(r, "the table has no primary key: each row that the other side changes is looked for in the whole table")
	}
	if out.Class == Directional && len(j.around.Triggers) > 0 {
		r = append(r, "triggers do not run for rows that come through replication; what they wrote on the other side comes with them")
	}
	if len(j.around.ReferencedBy) > 0 && !out.Instant {
		r = append(r, "foreign keys lead here from "+strings.Join(j.around.ReferencedBy, ", ")+": those tables wait for its lock, too")
	}
	if out.Instant && len(j.before) != len(j.after) {
		r = append(r, "a column that is added or dropped instantly leaves a file that older servers cannot import; ALTER TABLE ... FORCE writes it anew")
	}
	return r
}
