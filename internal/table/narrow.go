package table

import (
	"io"
	"strings"
	"unicode"
)

// narrow is a writer that is so many columns wide.
type narrow struct {
	io.Writer
	columns int
}

// Narrow is a writer whose tables are to be no wider than so many columns of a
// terminal, where cutting free text (Table.Cut) is enough for that. 0 or less
// is without limit.
func Narrow(w io.Writer, columns int) io.Writer { return &narrow{w, columns} }

// Cut names the columns that hold free text, by their heads. Where the table is
// wider than its writer, cells of these are cut, the widest column first, and
// end with "…". No other column is ever cut: what people type again and figures
// are whole or worth nothing.
func (t *Table) Cut(heads ...string) *Table {
	t.free = append(t.free, heads...)
	return t
}

// least is how narrow a column may become, if its head is not wider.
const least = 12

// fit cuts the rows in place until they are as wide as the writer, or until no
// column of free text can become narrower. Rows with fewer cells than the head
// stay: their last cell is about the whole row, as an error is.
func (t *Table) fit(rows [][]string) {
	w, ok := t.w.(*narrow)
	if !ok || w.columns <= 0 || len(t.free) == 0 {
		return
	}
	free := map[int]bool{}
	for i, head := range t.head {
		for _, f := range t.free {
			free[i] = free[i] || strings.TrimSpace(head) == f
		}
	}
	widths := make([]int, len(t.head))
	for _, row := range rows {
		for i, cell := range row {
			if i < len(widths) && (i < len(row)-1 || len(row) == len(t.head)) {
				widths[i] = max(widths[i], columns(cell))
			}
		}
	}
	total := len(gap) * (len(widths) - 1)
	if t.right {
		total += len(gap) // before the first, too
	}
	for _, n := range widths {
		total += n
	}
	cut := map[int]bool{}
	for ; total > w.columns; total-- {
		widest := -1
		for i, n := range widths {
			if free[i] && n > max(least, columns(t.head[i])) && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		cut[widest] = true
	}
	for _, row := range rows {
		for i := range cut {
			if i < len(row)-1 || i < len(row) && len(row) == len(t.head) {
				row[i] = clip(row[i], widths[i])
			}
		}
	}
}

// clip is as much of a text as fits so many columns, with "…" where it was cut.
func clip(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	n := 0
	for at, r := range s {
		if n += columns(string(r)); n > most-1 && !unicode.In(r, unicode.Mn, unicode.Me) {
			return strings.TrimRight(s[:at], " ") + "…"
		}
	}
	return s
}
