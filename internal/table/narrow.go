package table

import (
	"io"
	"slices"
	"strings"
	"unicode"
)

// narrow is a writer that is so many columns wide.
type narrow struct {
	io.Writer
	columns int
}

// Narrow is a writer whose tables are to be no wider than so many columns of a
// terminal, where shorter cells (Table.Cut, Table.Names) are enough for that. 0
// or less is without limit.
func Narrow(w io.Writer, columns int) io.Writer { return &narrow{w, columns} }

// Cut names the columns that hold free text, by their heads. Where the table is
// wider than its writer, cells of these are cut, the widest column first, and
// end with "…". Figures are never cut: half of one is worth nothing.
func (t *Table) Cut(heads ...string) *Table {
	t.free = append(t.free, heads...)
	return t
}

// Names are the columns that hold names. Where cutting free text is not enough,
// long names lose their middle, and each column keeps as much of them as tells
// its names apart.
func (t *Table) Names(heads ...string) *Table {
	t.named = append(t.named, heads...)
	return t
}

// least is how narrow a column may become, if its head is not wider.
const least = 12

// fit shortens cells of the rows in place until the table is as wide as its
// writer, or no column can become narrower. Rows with fewer cells than the head
// stay: their last cell is about the whole row, as an error is.
func (t *Table) fit(rows [][]string) {
	w, ok := t.w.(*narrow)
	if !ok || w.columns <= 0 || len(t.free)+len(t.named) == 0 {
		return
	}
	widths := make([]int, len(t.head))
	for _, row := range rows {
		for i, cell := range row {
			if i < len(widths) && (i < len(row)-1 || len(row) == len(t.head)) {
				widths[i] = max(widths[i], columns(cell))
			}
		}
	}
	over := len(gap)*(len(widths)-1) - w.columns
	if t.right {
		over += len(gap) // before the first, too
	}
	for _, n := range widths {
		over += n
	}
	over = t.shorten(rows, widths, over, t.free, clip, func(int) int { return least })
	t.shorten(rows, widths, over, t.named, middle, func(i int) int { return distinct(rows, i, widths[i]) })
}

// shorten takes what is over from the columns with these heads, the widest
// first, and says how much is left over.
func (t *Table) shorten(rows [][]string, widths []int, over int, heads []string, short func(string, int) string, floor func(column int) int) int {
	floors, was := map[int]int{}, slices.Clone(widths)
	for ; over > 0; over-- {
		widest := -1
		for i, head := range t.head {
			if !slices.Contains(heads, strings.TrimSpace(head)) || widths[i] <= columns(head) || widest >= 0 && widths[i] <= widths[widest] {
				continue
			}
			if _, known := floors[i]; !known {
				floors[i] = floor(i)
			}
			if widths[i] > floors[i] {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i := range widths {
			if widths[i] < was[i] && (i < len(row)-1 || i < len(row) && len(row) == len(t.head)) {
				row[i] = short(row[i], widths[i])
			}
		}
	}
	return over
}

// distinct is how narrow a column of names may become: its names differ then as they did.
func distinct(rows [][]string, column, widest int) int {
	names := map[string]bool{}
	for _, row := range rows {
		if column < len(row) {
			names[row[column]] = true
		}
	}
	width := least
	for width < widest && !differ(names, width) {
		width++
	}
	return width
}

func differ(names map[string]bool, width int) bool {
	seen := map[string]bool{}
	for name := range names {
		short := middle(name, width)
		if seen[short] {
			return false
		}
		seen[short] = true
	}
	return true
}

// clip is as much of a text as fits so many columns, with "…" where it was cut.
func clip(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	return strings.TrimRight(head(s, most-1), " ") + "…"
}

// Short is a name as a table writes it where there is room for so many columns; 0 is without limit.
func Short(name string, most int) string {
	if most <= 0 {
		return name
	}
	return middle(name, most)
}

// middle is a name without so much of its middle that the rest fits so many
// columns. Two thirds of that are its beginning, where most names differ; its end
// has the letter of a side.
func middle(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	first := head(s, (most-1)*2/3)
	runes := []rune(s)
	at := len(runes)
	for n := most - 1 - columns(first); at > 0; at-- {
		if n -= columns(string(runes[at-1])); n < 0 {
			break
		}
	}
	return first + "…" + string(runes[at:])
}

// head is as much of the beginning of a text as fits so many columns.
func head(s string, most int) string {
	n := 0
	for at, r := range s {
		if n += columns(string(r)); n > most && !unicode.In(r, unicode.Mn, unicode.Me) {
			return s[:at]
		}
	}
	return s
}
