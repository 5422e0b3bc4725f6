package result

import (
	"fmt"
	"io"
	"strings"

	"stowage/internal/table"
)

// ClassicTable is one step of several results in the columns of the tables that sysbench's fileio made people write down:
// Transfer/s, Requests/s, Avg/Request, 95%/Request; and, behind them, what those tables never had.
type ClassicTable struct {
	Step, Answers string
	// Of is what a row is: cell, result. Against is what verdicts are about; empty where there are none.
	Of, Against string
	Rows        []ClassicRow
}

// ClassicRow is one result's step.
type ClassicRow struct {
	Name    string
	Step    *Step
	Verdict string
	Flags   string // what the row must not be read without
}

// Classic are the tables of some results, a table a step, in the order in which steps come first.
func Classic(all []Named) []ClassicTable {
	var out []ClassicTable
	at := map[string]int{}
	for _, n := range all {
		for _, s := range n.Result.Steps {
			i, ok := at[s.ID]
			if !ok {
				i = len(out)
				at[s.ID] = i
				out = append(out, ClassicTable{Step: s.ID, Answers: s.Answers, Of: "result"})
			}
			out[i].Rows = append(out[i].Rows, ClassicRow{Name: n.Name, Step: s, Flags: s.Flags()})
		}
	}
	return out
}

// Head are the columns. The last, of what a row must not be read without, has no name.
func (t ClassicTable) Head() []string {
	head := []string{t.Of, "Transfer/s", "Requests/s", "Avg/Request", "95%/Request", "99%/Request", "+-95 %", "runs"}
	if t.Against != "" {
		head = append(head, "against "+t.Against)
	}
	return append(head, "")
}

// Cells are a row as it is printed: "-" is what is not known.
func (t ClassicTable) Cells(r ClassicRow) []string {
	s := r.Step
	cells := []string{r.Name, known(s.MBps, "MB"), known(s.IOPS, ""), known(s.Lat.Mean/1000, "ms"), known(s.Lat.P95/1000, "ms"), known(s.Lat.P99/1000, "ms"), Sureness(s.CI), fmt.Sprint(s.Runs)}
	if t.Against != "" {
		cells = append(cells, r.Verdict)
	}
	return append(cells, r.Flags)
}

// Write prints the table.
func (t ClassicTable) Write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, strings.TrimSuffix(t.Step+": "+t.Answers, ": ")); err != nil {
		return err
	}
	out := table.Figures(w, strings.Join(t.Head(), "\t"))
	for _, r := range t.Rows {
		out.Cells(t.Cells(r)...)
	}
	return out.Flush()
}

func known(v float64, unit string) string {
	if v <= 0 {
		return "-"
	}
	return Short(v) + unit
}

// Flags are what the figures of a step must not be read without.
func (s *Step) Flags() string {
	var out []string
	if s.Undurable {
		out = append(out, "NOT DURABLE")
	}
	if !s.Valid {
		out = append(out, "INVALID")
	}
	return strings.Join(out, ", ")
}
