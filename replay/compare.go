package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql/traffic"
	"stowage/replay/effect"
)

// exchange is one statement that was sent, with what came back.
type exchange struct {
	st    *Statement
	j     *effect.Judgement
	began time.Time
	late  time.Duration // how long after its time it was sent
	own   time.Duration // how much of that this machine was late to notice; -1 where the session was busy
	total time.Duration // from its time to the last row
	is    traffic.Answer
	was   *traffic.Answer // of the original; nil: not asked
}

// Difference is one way in which an answer is not what it was.
type Difference struct {
	Kind string `json:"kind"` // error, rows, affected, warnings, columns, values, order
	Was  string `json:"was"`
	Is   string `json:"is"`
}

func (d Difference) String() string { return fmt.Sprintf("%s: was %s, is %s", d.Kind, d.Was, d.Is) }

// compare says in what an answer differs, and whether there was anything to
// compare it with.
func (e *exchange) compare() (out []Difference, told bool) {
	if e.was != nil {
		return compareAnswers(e.was, &e.is, e.j.IsOrdered), true
	}
	return e.compareRecorded()
}

// compareRecorded compares with what the recording tells.
func (e *exchange) compareRecorded() (out []Difference, told bool) {
	st, is, tells := e.st, &e.is, e.st.Tells
	switch {
	case tells.Errors && (st.Code != 0) != (is.Code != 0), tells.Errors && st.Code > 1 && is.Code != st.Code:
		return []Difference{{"error", errorText(st.Code, ""), errorText(is.Code, is.Text)}}, true
	case is.Code != 0 && tells.Errors:
		return nil, true
	case is.Code != 0 && tells.Rows && st.RowsSent > 0:
		return []Difference{{"error", farm.Counted(st.RowsSent, "row"), errorText(is.Code, is.Text)}}, true
	case is.Code != 0:
		return []Difference{{"error", "not told", errorText(is.Code, is.Text)}}, true
	}
	if tells.Rows && is.Rows != st.RowsSent && (e.j.Kind == effect.Read || e.j.Kind == effect.Function) {
		out = append(out, Difference{"rows", fmt.Sprint(st.RowsSent), fmt.Sprint(is.Rows)})
	}
	if tells.Affected && e.j.Kind == effect.Write && is.Affected != st.RowsAffected {
		out = append(out, Difference{"affected", fmt.Sprint(st.RowsAffected), fmt.Sprint(is.Affected)})
	}
	if tells.Warnings && is.Warnings != st.Warned {
		out = append(out, Difference{"warnings", fmt.Sprint(st.Warned), fmt.Sprint(is.Warnings)})
	}
	return out, tells.Rows || tells.Errors
}

// compareAnswers compares two servers.
func compareAnswers(was, is *traffic.Answer, isOrdered bool) (out []Difference) {
	differ := func(kind, a, b string) {
		if a != b {
			out = append(out, Difference{kind, a, b})
		}
	}
	if was.Code != 0 || is.Code != 0 {
		if was.Code != is.Code {
			differ("error", errorText(was.Code, was.Text), errorText(is.Code, is.Text))
		}
		return out
	}
	differ("columns", effect.Clip(strings.Join(was.Columns, ", "), 300), effect.Clip(strings.Join(is.Columns, ", "), 300))
	differ("rows", fmt.Sprint(was.Rows), fmt.Sprint(is.Rows))
	switch {
	case was.Sum.Bag != is.Sum.Bag && was.Rows == is.Rows:
		a, b := firstOther(was, is)
		out = append(out, Difference{"values", a, b})
	case was.Sum.Bag == is.Sum.Bag && isOrdered && was.Sum.Ordered != is.Sum.Ordered:
		a, b := firstMoved(was, is)
		out = append(out, Difference{"order", a, b})
	}
	differ("warnings", fmt.Sprint(was.Warnings), fmt.Sprint(is.Warnings))
	return out
}

func errorText(code uint16, text string) string {
	switch code {
	case 0:
		return "no error"
	case 1:
		return "an error"
	}
	if text == "" {
		return fmt.Sprintf("error %d", code)
	}
	return fmt.Sprintf("error %d: %s", code, effect.Clip(text, 200))
}

// firstOther is a row of each answer that the other does not have.
func firstOther(was, is *traffic.Answer) (string, string) {
	if !was.IsWhole || !is.IsWhole {
		return "other values", "among more rows than are kept"
	}
	return lacking(was.Sample, is.Sample), lacking(is.Sample, was.Sample)
}

// lacking is the first row of a that is not in b.
func lacking(a, b []string) string {
	left := map[string]int{}
	for _, row := range b {
		left[row]++
	}
	for _, row := range a {
		if left[row]--; left[row] < 0 {
			return "(" + effect.Clip(row, 300) + ")"
		}
	}
	return "no such row"
}

func firstMoved(was, is *traffic.Answer) (string, string) {
	for i := range min(len(was.Sample), len(is.Sample)) {
		if was.Sample[i] != is.Sample[i] {
			return fmt.Sprintf("row %d (%s)", i+1, effect.Clip(was.Sample[i], 200)), "(" + effect.Clip(is.Sample[i], 200) + ")"
		}
	}
	return "another order", "behind the rows that are kept"
}

// kindsOf are the kinds of differences, without repeating any.
func kindsOf(ds []Difference) string {
	var out []string
	for _, d := range ds {
		if !slices.Contains(out, d.Kind) {
			out = append(out, d.Kind)
		}
	}
	return strings.Join(out, ", ")
}
