package rows

import (
	"context"
	"fmt"
	"strings"

	"stowage/farm"
)

// Cargo is rows on their way, as a Stream writes them in one transaction. The
// trail gets one line for all of it: which table, how many rows, which keys.
type Cargo struct {
	Statements [][]byte
	load       *CopyTable // where Statements are lines to be loaded into it
	// What they are, without values. Numbers of a key are not values here: they
	// say which part of a table a line speaks of. Text in a key is left out.
	What string
	// Often: there are several a second for as long as a copy lives, and the
	// trail may count them instead.
	Often bool
}

// Cargo is the chunk of a part, ready to be written to another table.
func (c Chunk) Cargo(p *Part, to *CopyTable) Cargo {
	out := Cargo{Statements: c.Statements, What: fmt.Sprintf("REPLACE %s INTO %s", farm.Counted(c.Rows, "row"), to.At())}
	if c.Loaded {
		out.load, out.What = to, fmt.Sprintf("LOAD %s REPLACE INTO %s", farm.Counted(c.Rows, "row"), to.At())
	}
	from, upTo := p.Lower, ""
	if len(p.After) > 0 {
		from = p.After[0]
	}
	if len(c.Last) > 0 {
		upTo = c.Last[0]
	}
	if !isWhole(from) || !isWhole(upTo) {
		out.What += fmt.Sprintf(", part %d", p.N)
		return out
	}
	if from != "" {
		out.What += ", keys beyond " + from
	}
	if upTo != "" {
		out.What += ", keys to " + upTo
	}
	return out
}

// isWhole reports whether a literal is a whole number, or there is none.
func isWhole(literal string) bool {
	return strings.Trim(strings.TrimPrefix(literal, "-"), "0123456789") == ""
}

// Repair is the rows that a comparison found different: those of the target are
// deleted, and the source's, if there are any, are written.
func (c Chunk) Repair(to *CopyTable, keys [][]string) Cargo {
	return Cargo{Statements: append([][]byte{to.delete(keys)}, c.Statements...), What: fmt.Sprintf("DELETE %s and REPLACE %d INTO %s", farm.Counted(len(keys), "row"), c.Rows, to.At())}
}

// Cargo is what carries the batch out.
func (b *Batch) Cargo() Cargo {
	var tables []string
	for _, o := range b.tables {
		tables = append(tables, o.table.At())
	}
	return Cargo{Statements: b.Statements(), What: "carry changes of the binary log INTO " + strings.Join(tables, ", "), Often: true}
}

// tell reports cargo before it is sent, and returns what is to be told its error.
func (w *Stream) tell(ctx context.Context, c Cargo) func(error) {
	if len(c.Statements) == 0 { // only the mark moves
		return func(error) {}
	}
	return w.server.TellRows(ctx, c.What, c.Often)
}
