package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/alter"
	"stowage/backup"
	"stowage/farm"
	"stowage/move"
	"stowage/reshape"
	"stowage/roll"
	"stowage/session"
	"stowage/store"
	"stowage/swing"
)

// moveSummary is what a finished move prints.
type moveSummary struct {
	FormatVersion int     `json:"format_version"`
	Run           string  `json:"run,omitempty"`
	Plan          string  `json:"plan,omitempty"`
	State         string  `json:"state"` // done, failed, held, nothing-to-do
	Sides         int     `json:"sides"`
	Moved         int     `json:"sides_moved"`
	Seconds       float64 `json:"seconds"`
	Gates         int     `json:"gates"`       // that were closed, those of switchovers included
	GateP50       float64 `json:"gate_p50_ms"` // how long
	GateP95       float64 `json:"gate_p95_ms"`
	GateMax       float64 `json:"gate_max_ms"`
	// WritePauses are those of the switchovers among them.
	WritePauses *act.WritePauses `json:"write_pauses,omitempty"`
	Outcome     *act.Outcome     `json:"outcome,omitempty"`
	Hosts       []roll.HostEnd   `json:"hosts,omitempty"`   // of a roll
	Pairs       []alteredPair    `json:"pairs,omitempty"`   // of an alter
	Backups     []backupRow      `json:"backups,omitempty"` // that were made
	Tenants     []reshape.Ended  `json:"tenants,omitempty"` // of a reshape
	// FirstMinutes are how clients fared on sides that came back.
	FirstMinutes []swing.FirstMinute `json:"first_minutes,omitempty"`
	// Forward are those that have settled without a way back.
	Forward []act.LostWay `json:"without_way_back,omitempty"`
	// Next are the commands that follow: those by which a run that is held goes on, else what is looked at.
	Next []string `json:"-"` // emit has them

	part string // what is counted, in the singular
	did  string // what was done to it: moved, done

	ungated bool // nothing is said of gates
}

// ended prints how a move ended. The error decides the exit code.
func (a *app) ended(s moveSummary, err error) error {
	if s.Run == "" && (err != nil || s.State == "") {
		return err // or it has been said
	}
	if s.Outcome != nil && s.Outcome.Back != nil {
		s.Next = slices.Concat(wayBack(s.Outcome.Back), s.Next)
	}
	printErr := a.emit(s, func(w io.Writer) error {
		if s.State == "nothing-to-do" && s.Plan == "" {
			_, err := fmt.Fprintln(w, "nothing to continue: no run has begun in this workspace")
			return err
		}
		if s.State == "nothing-to-do" && s.Hosts != nil {
			_, err := fmt.Fprintln(w, "nothing to do: the plan has rolled every host")
			return err
		}
		if s.State == "nothing-to-do" && s.Pairs != nil {
			_, err := fmt.Fprintln(w, "nothing to do: the plan has changed every pair")
			return err
		}
		if s.State == "nothing-to-do" && s.Tenants != nil {
			_, err := fmt.Fprintln(w, "nothing to do: every tenant of the wave is done")
			return err
		}
		if s.State == "nothing-to-do" {
			_, err := fmt.Fprintln(w, "nothing to do: farm.yaml shows every side where the plan wants it")
			return err
		}
		if s.State == stateHeld {
			_, err := fmt.Fprintf(w, "%s: %s is out; its twin serves all clients of the pair\n  bring it back: %s\n", s.Run, s.Plan, s.Next[0])
			return err
		}
		if s.Hosts != nil {
			return errors.Join(s.writeHosts(w), writeFirstMinutes(w, s.FirstMinutes))
		}
		if s.Pairs != nil {
			return s.writePairs(w)
		}
		if s.Tenants != nil {
			return s.writeTenants(w)
		}
		if s.ungated {
			return s.writeBackups(w)
		}
		_, err := fmt.Fprintf(w, "%s: %d of %s %s in %.1f s; %s\n", s.Run, s.Moved, farm.Counted(s.Sides, s.part), s.did, s.Seconds, s.paused())
		err = errors.Join(err, writeFirstMinutes(w, s.FirstMinutes))
		writeForward(w, s.Forward)
		if s.Outcome != nil {
			writeBack(w, s.Outcome.Back, s.Outcome.NoBack)
		}
		return err
	}, a.allWithin(s.Next)...)
	return errors.Join(err, s.wrongTenants(), printErr)
}

// paused says how long clients waited. The gate of a switchover is its write pause: it is said once.
func (s moveSummary) paused() string {
	var said []string
	if s.WritePauses != nil {
		said = append(said, s.WritePauses.String())
	}
	switch {
	case s.Gates == 0:
		said = append(said, "no gate was closed")
	case s.WritePauses != nil && s.WritePauses.Times == s.Gates:
	case s.Gates == 1:
		said = append(said, "1 gate was closed for "+farm.Millis(s.GateMax))
	default:
		said = append(said, fmt.Sprintf("%d gates were closed for %s (median), %s (p95), %s (longest)", s.Gates, farm.Millis(s.GateP50), farm.Millis(s.GateP95), farm.Millis(s.GateMax)))
	}
	return strings.Join(said, "; ")
}

func summarize(d *session.Session, run store.Run, out *act.Outcome) (moveSummary, error) {
	events, _, err := d.Store.Events(run.ID, 0)
	if err != nil {
		return moveSummary{}, err
	}
	board := act.NewBoard()
	for _, e := range events {
		board.Apply(e)
	}
	s := moveSummary{FormatVersion: 1, Run: run.ID, Plan: run.Subject, State: "done", Sides: len(board.Sides), Moved: board.Done(),
		Seconds: board.Last.Sub(board.First).Seconds(), Gates: len(board.Pauses), GateP50: board.Quantile(0.5), GateP95: board.Quantile(0.95), GateMax: board.Quantile(1), WritePauses: board.WritePauses(), Outcome: out, part: board.Part(kindOf(run).Kind), did: "done"}
	if run.Kind == move.Name {
		s.did = "moved"
	}
	now, err := act.SteeringOf(d.Store, run.ID)
	if err != nil {
		return s, err
	}
	if s.FirstMinutes, err = act.FirstMinutes(d.Store, run.ID); err != nil {
		return s, err
	}
	s.Forward = slices.DeleteFunc(slices.Clone(now.Lost), func(w act.LostWay) bool { return w.Forward == nil })
	if all, done := board.Shards(); all > 0 { // pairs that are made or retired for them are no moves
		s.Sides, s.Moved = all, done
	}
	if run.Kind == roll.Roll {
		if run, err = act.Choose(d.Store, run.ID, "roll"); err == nil {
			s.Hosts, err = roll.Ends(d.Store, run, time.Now())
		}
		if err != nil {
			return s, err
		}
	}
	if s.ungated = kindOf(run).Ungated; run.Kind == backup.Backup {
		made, err := backup.Made(d.Store, run.ID)
		if err != nil {
			return s, err
		}
		s.Backups = backupRows(made)
	}
	switch run.Kind {
	case alter.Name:
		s.Pairs = alteredPairs(run, out)
	case reshape.Name:
		if s.Tenants, err = reshape.OfRun(d.Store, run.ID); err != nil {
			return s, err
		}
	}
	if out != nil && !out.Whole() || run.State == store.Failed {
		s.State = "failed"
	}
	ended, err := act.Choose(d.Store, run.ID, "show")
	if err == nil && ended.State != store.Running {
		s.Next, err = afterRun(d, ended)
	}
	return s, err
}
