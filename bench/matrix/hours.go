package matrix

import (
	"fmt"
	"math"
	"time"

	"stowage/farm"
)

// Visit is about how long it takes to make a cell and to run each of its steps once.
type Visit struct {
	Least time.Duration
	// Most is with the time that a device may take to become steady.
	Most time.Duration
}

// Plan is what will be done, and how long it takes.
type Plan struct {
	Matrix *Matrix  `json:"matrix"`
	Cells  []Cell   `json:"cells"`
	Steps  []string `json:"steps"`
	Visits int      `json:"visits"`
	Least  float64  `json:"least_seconds"`
	Most   float64  `json:"most_seconds"`
}

// Plan counts visits and hours. visit is asked once for each cell.
func (m *Matrix) Plan(steps []string, visit func(Cell) Visit) Plan {
	p := Plan{Matrix: m, Cells: m.Cells(), Steps: steps}
	p.Visits = len(p.Cells) * m.Rounds
	for _, c := range p.Cells {
		v := visit(c)
		p.Least += float64(m.Rounds) * v.Least.Seconds()
		p.Most += float64(m.Rounds) * v.Most.Seconds()
	}
	return p
}

// Hours is the sentence that comes before anything else.
func (p Plan) Hours() string {
	text := fmt.Sprintf("%s: %s (one of them twice) x %s = %s of %s", Long(p.Least), farm.Counted(len(p.Cells), "cell"), farm.Counted(p.Matrix.Rounds, "round"), farm.Counted(p.Visits, "visit"), farm.Counted(len(p.Steps), "step"))
	if p.Most > p.Least*1.01 {
		text += fmt.Sprintf("; up to %s if the device takes as long as it may to become steady", Long(p.Most))
	}
	return text
}

// Long says seconds in hours, or in minutes where they are few.
func Long(seconds float64) string {
	switch {
	case seconds >= 5400:
		return fmt.Sprintf("%.1f hours", seconds/3600)
	case seconds >= 90:
		return fmt.Sprintf("%.0f minutes (%.1f hours)", math.Ceil(seconds/60), seconds/3600)
	}
	return fmt.Sprintf("%.0f seconds", math.Ceil(seconds))
}
