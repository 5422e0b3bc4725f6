package serve

import "fmt"

// mostLanes is how many lanes a table on Moves lists. The move of a large farm has a hundred thousand, and the page has them again with every change.
const mostLanes = 200

// Open are the lanes that have not ended, as many as are listed.
func (m Move) Open() []Lane { return m.lanes(false) }

// Finished are those that are done, as many as are listed.
func (m Move) Finished() []Lane { return m.lanes(true) }

func (m Move) lanes(done bool) (out []Lane) {
	for _, l := range m.Lanes {
		if l.IsDone == done && len(out) < mostLanes {
			out = append(out, l)
		}
	}
	return out
}

// LeftOut says how many lanes are not listed; empty: none.
func (m Move) LeftOut() string {
	n := len(m.Lanes) - len(m.Open()) - len(m.Finished())
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d lanes more are not listed here: stowage status and stowage log have all.", n)
}
