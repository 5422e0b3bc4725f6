package report

import (
	"fmt"
	"slices"
	"time"

	"stowage/farm"
)

// FirstMinute is how clients fared on one side that came back, beside those of its twin in the same seconds. Package swing has the same words.
type FirstMinute struct {
	Pair         farm.PairName
	Side         farm.SideName
	Twin         string // the server that is the steady state; "": the side itself, before it left
	From         time.Time
	Seconds      float64 // that were counted
	Source       string  // what counted
	IsPercentile bool    // times are the 95th percentile, not a mean
	Statements   uint64  // of the side
	Millis       float64 // of one statement
	Steady       float64
	Ratio        float64
	CutShort     string // why it is not a whole minute
	NotMeasured  string // why there are no figures
}

// firstMinutes is the table of them.
type firstMinutes struct {
	Words string
	Rows  []firstMinuteRow
}

type firstMinuteRow struct {
	Side, From     string
	Seconds, First string
	Steady, Ratio  string
	Counted        string
	Note           string
}

// newFirstMinutes is nil where no side has come back.
func newFirstMinutes(all []FirstMinute) *firstMinutes {
	if len(all) == 0 {
		return nil
	}
	out := &firstMinutes{}
	var ratios []float64
	for _, m := range all {
		steady := "itself, before it left"
		if m.Twin != "" {
			steady = "its twin " + m.Twin
		}
		row := firstMinuteRow{Side: fmt.Sprintf("%s/%s", m.Pair, m.Side), From: moment(m.From), Seconds: fmt.Sprintf("%.0f s", m.Seconds), Counted: whole(float64(m.Statements))}
		if m.NotMeasured != "" {
			row.Note = "not measured: " + m.NotMeasured
		} else {
			row.First, row.Steady, row.Ratio = m.time(m.Millis), m.time(m.Steady), fmt.Sprintf("%.2f%s", m.Ratio, times)
			row.Note = fmt.Sprintf("beside %s, by %s", steady, m.Source)
			ratios = append(ratios, m.Ratio)
		}
		if m.CutShort != "" {
			row.Note += "; no whole minute: " + m.CutShort
		}
		out.Rows = append(out.Rows, row)
	}
	if out.Words = fmt.Sprintf("None of %s was measured.", count(len(all), "side")); len(ratios) > 0 {
		slices.Sort(ratios)
		out.Words = fmt.Sprintf("A statement took %.2f times as long as in the steady state in the median of %s, %.2f times at most; %d not measured.",
			quantile(ratios, 0.5), count(len(ratios), "side"), ratios[len(ratios)-1], len(all)-len(ratios))
	}
	return out
}

func (m FirstMinute) time(v float64) string {
	if m.IsPercentile {
		return "p95 " + millis(v)
	}
	return millis(v)
}
