package capacity

import "stowage/farm"

// CopyRate is how fast data leaves a server, and who says so.
type CopyRate struct {
	PerSecond float64 `json:"bytes_per_second"`
	Source    string  `json:"source"`
	Copies    int     `json:"copies"` // that it is the median of; 0: given by hand
}

// CopyRates are the rates at which the copies of a run went from server to server, in bytes a second: from the first to the last report of each that
// told how many bytes were there. Copies that took less than a second say nothing.
func CopyRates(events []farm.Event) []float64 {
	type lane struct {
		run  string
		pair farm.PairName
		side farm.SideName
	}
	type copied struct{ first, last farm.Event }
	at := map[lane]*copied{}
	var order []lane
	for _, e := range events {
		if e.Step != "seed" || e.Kind != farm.StepProgress || e.Bytes <= 0 {
			continue
		}
		l := lane{e.Run, e.Pair, e.Side}
		switch c := at[l]; {
		case c == nil:
			at[l], order = &copied{e, e}, append(order, l)
		case e.Bytes < c.last.Bytes: // it was begun again
			*c = copied{e, e}
		case e.Bytes > c.last.Bytes: // the same number comes again while the copy's log is applied
			c.last = e
		}
	}
	var out []float64
	for _, l := range order {
		c := at[l]
		if took := c.last.Time.Sub(c.first.Time).Seconds(); took >= 1 {
			out = append(out, float64(c.last.Bytes-c.first.Bytes)/took)
		}
	}
	return out
}

// MedianRate is the middle one of several; nil of none.
func MedianRate(rates []float64, source string) *CopyRate {
	if len(rates) == 0 {
		return nil
	}
	return &CopyRate{PerSecond: median(rates), Source: source, Copies: len(rates)}
}
