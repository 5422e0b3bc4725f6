package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"

	"stowage/digest"
)

// classPicture is the distribution of the query times of one class, before and after. The page is written with the first class, that of most load;
// the script puts another in its place.
type classPicture struct {
	sharesPicture
	Name, Words string
	Rows        []classColumn // its table
	all         []classChart
}

// classColumn is one column of the picture, as a row of its table.
type classColumn struct{ From, To, Before, After string }

// classChart is one class for the script. Before and After are shares of 0 to 1 by column, with their texts, Top is the end of the axis of shares, and
// Levels are the texts of its marks.
type classChart struct {
	Name        string    `json:"name"`
	Before      []float64 `json:"before"`
	After       []float64 `json:"after"`
	BeforeTexts []string  `json:"before_texts"`
	AfterTexts  []string  `json:"after_texts"`
	Top         float64   `json:"top"`
	Levels      []string  `json:"levels"`
	Words       string    `json:"words"`
}

func newClassChart(number int, ch digest.Change, from, to int) classChart {
	c := classChart{Name: fmt.Sprintf("%d. %s", number, clipText(ch.Fingerprint, 90)), Before: shares(ch.Before, from, to), After: shares(ch.After, from, to)}
	most := 0.0
	for i := range c.Before {
		c.Before[i], c.After[i] = math.Round(c.Before[i]*1e5)/1e5, math.Round(c.After[i]*1e5)/1e5
		c.BeforeTexts, c.AfterTexts = append(c.BeforeTexts, percent(c.Before[i])), append(c.AfterTexts, percent(c.After[i]))
		most = max(most, c.Before[i], c.After[i])
	}
	c.Top = 4 * quarter(most)
	for k := range 5 {
		c.Levels = append(c.Levels, percent(float64(k)*quarter(most)))
	}
	c.Words = string(ch.Verdict)
	if ch.Reason != "" {
		c.Words += ": " + ch.Reason
	}
	return c
}

// newClassPicture draws the first of all classes; nil where there is none.
func newClassPicture(all []classChart, from int) *classPicture {
	if len(all) == 0 {
		return nil
	}
	c := all[0]
	const wide, tall = 1140.0, 280.0
	p := &classPicture{Name: c.Name, Words: c.Words, all: all, sharesPicture: sharesPicture{ID: "class", Title: "Query times of one class", Width: wide, Height: tall,
		X0: 46, X1: wide - 12, Y0: 34, Y1: tall - 34, XName: "query time from", YName: "share of calls"}}
	p.Desc = "The share of calls by query time, before and after, in columns that are twice as wide each as the one before. The same as a table: below."
	p.shares(c.Top)
	each := 1 / float64(len(c.Before))
	for i := range c.Before {
		left, right := p.x(float64(i)*each), p.x(float64(i+1)*each)
		half := (right - left) * 0.4
		p.bar("was", left+(right-left)*0.1, half, c.Before[i]/c.Top)
		p.bar("is", left+(right-left)*0.5, half, c.After[i]/c.Top)
		row := classColumn{columnEdge(from + i), columnEdge(from + i + 1), c.BeforeTexts[i], c.AfterTexts[i]}
		p.Rows = append(p.Rows, row)
		p.XTicks = append(p.XTicks, tick{round1((left + right) / 2), row.From})
		p.column(left, right, fmt.Sprintf("%s to %s: before %s, after %s", row.From, row.To, row.Before, row.After))
	}
	return p
}

// data are the figures of all classes for the script, as the text of an element with the id charts. Empty where there are none.
func (t *traffic) data() (template.JS, error) {
	if t == nil || t.Chosen == nil {
		return "", nil
	}
	raw, err := json.Marshal(map[string]any{"classes": t.Chosen.all})
	return template.JS(raw), err // json.Marshal writes <, > and & as \u003c and so on
}

func (p *classPicture) bar(class string, x, wide, share float64) {
	y := p.y(share)
	p.Bars = append(p.Bars, sharesBar{sparkBar{round1(x), y, round1(wide - 1), round1(p.Y1 - y)}, class, ""})
}
