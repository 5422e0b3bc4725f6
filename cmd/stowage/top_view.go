package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/report"
	"stowage/route"
	"stowage/serve"
	"stowage/session"
	"stowage/store"
)

// topView is one look at the workspace.
type topView struct {
	FormatVersion int    `json:"format_version"`
	Farm          string `json:"farm"`
	Parts         int    `json:"parts,omitempty"` // of the run, also those that have not begun; 0: not known
	// Out are sides whose clients are served elsewhere, wholly or in part.
	Out      []outLine             `json:"out"`
	Findings map[farm.Severity]int `json:"findings"` // of the newest inventory and of tune --all
	Status   moveStatus            `json:"status"`   // as stowage status has it, without what servers would have to be asked
	// Open are all runs that have not ended, the newest first, where there are others than the one that is shown.
	Open []topRun `json:"open,omitempty"`

	move  serve.Move
	log   []string // the newest lines; nil: they are not wanted
	width int      // of the screen; 0: without limit
}

// outLine is a side that does not serve all of its clients.
type outLine struct {
	Pair  farm.PairName `json:"pair"`
	Side  farm.SideName `json:"side"`
	Share float64       `json:"share_percent"` // of its clients, that it serves itself
}

// topView looks at what the pages of serve show, of one run; "" is the newest that has not ended, or the newest.
func (s *shelf) topView(run string) (topView, error) {
	v := topView{FormatVersion: 1, Out: []outLine{}, Findings: map[farm.Severity]int{}}
	var err error
	if v.move, err = s.moveOf(run); err != nil {
		return v, err
	}
	v.Status, _ = v.move.JSON.(moveStatus)
	d, err := s.desk()
	if err != nil {
		return v, err
	}
	defer d.Close()
	v.Farm = d.Farm.Name
	if v.Parts, err = partsOf(d, v.Status); err != nil {
		return v, err
	}
	if v.Open, err = s.openRuns(d, v); err != nil {
		return v, err
	}
	if t, _ := keptRouting(d); t != nil { // why it is not known stands in move.Unknown
		v.Out = outOfRotation(d.Farm, t)
	}
	var known report.KnowFacts
	if _, err := knownFindings(d, &known); err != nil {
		return v, err
	}
	for _, f := range known.Findings {
		v.Findings[f.Severity]++
	}
	return v, nil
}

// partsOf is how many parts a run has, by its job. Of one that carries single shards it is not known: pairs that are made and retired for them are parts, too.
func partsOf(d *session.Session, s moveStatus) (int, error) {
	var job engine.Job
	_, err := d.Store.LatestDocument("job", s.Run, &job)
	if errors.Is(err, store.ErrNone) || s.parts() == "shards" {
		return 0, nil
	}
	n := 0
	for _, l := range job.Lanes {
		if !l.Closing {
			n += len(l.Parts)
		}
	}
	return max(n, len(s.Sides)), err
}

// outOfRotation are the sides that do not serve all the clients whose home they are.
func outOfRotation(f *farm.Farm, t *route.Table) []outLine {
	out := []outLine{}
	for _, p := range f.Pairs {
		r := t.Pairs[p.Name]
		if r == nil {
			continue
		}
		for _, side := range p.SideNames() {
			isHome := slices.ContainsFunc(r.Routes, func(x route.Route) bool { return x.Home == side })
			if share := r.Share(side, side); isHome && share < 100 {
				out = append(out, outLine{p.Name, side, share})
			}
		}
	}
	return out
}

// lines are the view on a screen so many lines high; 0: as many as there are.
func (v topView) lines(now time.Time, height int) []string {
	head := v.headLines(now)
	foot := v.footLines()
	lanes := v.log
	if lanes == nil {
		lanes = v.laneLines()
	}
	if room := height - len(head) - len(foot); height > 0 && len(lanes) > room {
		room = max(room, 1)
		more := len(lanes) - room + 1
		if v.log != nil {
			lanes = lanes[more-1:] // the newest
		} else {
			lanes = append(slices.Clone(lanes[:room-1]), fmt.Sprintf("  and %d more", more))
		}
	}
	return slices.Concat(head, lanes, foot)
}

// headLines are the run, what people ordered, and what somebody has to look at.
func (v topView) headLines(now time.Time) []string {
	s := v.Status
	if s.State == "none" {
		return []string{fmt.Sprintf("%s  %s  no run has begun", v.Farm, now.Format(time.TimeOnly))}
	}
	head := fmt.Sprintf("%s  %s  %s of plan %s: %s", v.Farm, now.Format(time.TimeOnly), s.Run, s.Plan, s.State)
	out := []string{head}
	if len(v.Open) > 0 {
		out = append([]string{fmt.Sprintf("%s  %s  %s not ended; keys act on the one marked >", v.Farm, now.Format(time.TimeOnly), farm.Counted(len(v.Open), "run"))}, v.openLines(now)...)
		out = append(out, "", fmt.Sprintf("%s of plan %s: %s", s.Run, s.Plan, s.State))
	}
	out = append(out, fmt.Sprintf("  %s, %v; %s, longest %s", s.progress(v.Parts), s.took(now), farm.Counted(v.move.Gates, "gate"), farm.Millis(v.move.LongestGate)))
	for _, text := range slices.Concat(v.move.Said, v.move.Alarms) {
		out = append(out, "  "+text)
	}
	for _, w := range v.move.Waits {
		out = append(out, fmt.Sprintf("  A PERSON DECIDES: %s before %s: %s", w.Part, w.Step, w.Command))
	}
	return out
}

// onTop is how wide names of pairs and hosts may be on the screen of top.
const onTop = 26

func (v topView) laneLines() (out []string) {
	for _, r := range v.Status.Sides {
		if !r.Done {
			out = append(out, "  "+r.short)
		}
	}
	return out
}

// footLines are the farm: sides that are out, findings, and what to do next.
func (v topView) footLines() []string {
	var names []string
	for _, o := range v.Out {
		text := fmt.Sprintf("%s/%s", o.Pair, o.Side)
		if o.Share > 0 {
			text += fmt.Sprintf(" (serves %.0f %%)", o.Share)
		}
		names = append(names, text)
	}
	out := []string{"  out of rotation: none"}
	switch {
	case v.move.Unknown != "":
		out[0] = "  out of rotation: not known: " + v.move.Unknown
	case len(names) > 0:
		out[0] = "  out of rotation: " + farm.Some(names)
	}
	return append(out,
		fmt.Sprintf("  findings: %s, %s", farm.Counted(v.Findings[farm.Blocker], "blocker"), farm.Counted(v.Findings[farm.Warning], "warning")),
		"  next: "+v.Status.NextSteps[0])
}

// newestLog are the last lines of the log of a run.
func (a *app) newestLog(run string, n int) ([]string, error) {
	deeds, err := a.deeds(run, false)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, d := range deeds[max(0, len(deeds)-n):] {
		if err := writeDeed(&b, d); err != nil {
			return nil, err
		}
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	return lines[max(0, len(lines)-n):], nil
}
