package table

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
)

// gap stands between two columns.
const gap = "  "

// Table is rows below a head. It is for one goroutine.
type Table struct {
	w     io.Writer
	right bool
	head  []string
	rows  [][]string
	free  []string // heads of the columns of free text, which may be cut
	named []string // heads of the columns of names, which may lose their middle
}

// New is a table whose columns are flush left. The names in the head stand
// between tabs.
func New(w io.Writer, head string) *Table { return &Table{w: w, head: strings.Split(head, "\t")} }

// Figures is a table whose columns are flush right, the first one too.
func Figures(w io.Writer, head string) *Table {
	t := New(w, head)
	t.right = true
	return t
}

// Row adds a row of a format whose cells stand between tabs. A tab or a line
// break in an argument becomes a blank. The last cell of a row with fewer cells
// than the head may run on below the heads to its right.
func (t *Table) Row(format string, args ...any) {
	for i, a := range args {
		if v := reflect.ValueOf(a); v.Kind() == reflect.String && strings.ContainsFunc(v.String(), unicode.IsControl) {
			args[i] = oneLine(v.String())
		}
	}
	t.rows = append(t.rows, strings.Split(fmt.Sprintf(format, args...), "\t"))
}

// Cells adds a row of as many cells as there are columns in this table.
func (t *Table) Cells(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = oneLine(c)
	}
	t.rows = append(t.rows, row)
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// Flush writes the head and the rows, and returns the writer's error. The table
// has no rows then.
func (t *Table) Flush() error {
	if len(t.rows) == 0 {
		return nil
	}
	rows := append([][]string{t.head}, t.rows...)
	t.rows = nil
	t.fit(rows)
	widths := t.widths(rows)
	var out strings.Builder
	for _, row := range rows {
		out.WriteString(strings.TrimRight(t.line(row, widths), " ") + "\n")
	}
	_, err := io.WriteString(t.w, out.String())
	return err
}

// widths are the columns' widths. The last cell of a row that is flush left
// does not count: nothing stands behind it.
func (t *Table) widths(rows [][]string) []int {
	var out []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(out) {
				out = append(out, 0)
			}
			if t.right || i < len(row)-1 {
				out[i] = max(out[i], columns(cell))
			}
		}
	}
	return out
}

func (t *Table) line(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		fill := strings.Repeat(" ", max(0, widths[i]-columns(cell)))
		if t.right {
			b.WriteString(gap + fill + cell)
		} else {
			b.WriteString(cell + fill + gap)
		}
	}
	return b.String()
}
