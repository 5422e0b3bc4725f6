package trial

import (
	"time"

	"stowage/bench"
	"stowage/bench/matrix"
)

// making is about how long it takes to make a testbed and to take it away.
const making = 3 * time.Second

// profile is the barrage of a matrix.
func profile(m *matrix.Matrix) (bench.Profile, error) {
	p := bench.Quick()
	if m.Profile == "full" {
		p = bench.Full()
	}
	if m.Runtime > 0 {
		p.SetRuntime(m.Runtime)
	}
	if len(m.Steps) > 0 {
		if err := p.Only(m.Steps); err != nil {
			return p, err
		}
	}
	p.MinRuns, p.MaxRuns, p.Budget, p.LayoutLimit = m.Rounds, m.Rounds, 0, 0
	return p, nil
}

// Plan says what Run will do, and how long that takes.
func Plan(m *matrix.Matrix) (matrix.Plan, error) {
	p, err := profile(m)
	if err != nil {
		return matrix.Plan{}, err
	}
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, s.ID)
	}
	return m.Plan(steps, func(c matrix.Cell) matrix.Visit {
		least, most := p.Visit(c.Size)
		return matrix.Visit{Least: least + making, Most: most + making}
	}), nil
}
