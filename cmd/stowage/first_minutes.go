package main

import (
	"fmt"
	"io"

	"stowage/act"
	"stowage/report"
	"stowage/session"
	"stowage/store"
	"stowage/swing"
)

// writeFirstMinutes says how clients fared on sides that came back: of one side all, of several the worst.
func writeFirstMinutes(w io.Writer, all []swing.FirstMinute) error {
	if len(all) == 0 {
		return nil
	}
	worst, measured := all[0], 0
	for _, m := range all {
		if m.NotMeasured == "" {
			measured++
		}
		if m.Ratio > worst.Ratio {
			worst = m
		}
	}
	text := fmt.Sprintf("%s/%s: %s", worst.Pair, worst.Side, worst)
	if len(all) > 1 {
		text = fmt.Sprintf("first minute after return measured for %d of %d sides", measured, len(all))
		if measured > 0 {
			text += fmt.Sprintf("; the worst is %s/%s: %s", worst.Pair, worst.Side, worst)
		}
	}
	_, err := fmt.Fprintln(w, "  "+text)
	return err
}

// firstMinutes are those of a run, as a report takes them.
func firstMinutes(d *session.Session, run store.Run) ([]report.FirstMinute, error) {
	all, err := act.FirstMinutes(d.Store, run.ID)
	var out []report.FirstMinute
	for _, m := range all {
		out = append(out, report.FirstMinute{
			Pair: m.Pair, Side: m.Side, Twin: string(m.Twin), From: m.From, Seconds: m.Seconds, CutShort: m.CutShort, NotMeasured: m.NotMeasured,
			Source: string(m.Source), IsPercentile: m.IsPercentile(), Statements: m.Statements, Millis: m.Millis, Steady: m.Steady, Ratio: m.Ratio,
		})
	}
	return out, err
}
