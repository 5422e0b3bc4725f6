package main

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"stowage/internal/lazy"
	"stowage/roll"
)

func (a *app) rollAnnounceCommand() *cobra.Command {
	begin := ""
	cmd := &cobra.Command{
		Use: "announce PLAN", Short: "Write an announcement of a roll, as Markdown and as a calendar file", Args: args(cobra.ExactArgs(1)),
		Long: `Writes rolls/PLAN.md, for a wiki, a ticket or a mail, and rolls/PLAN.ics, which calendars
import: what is done, when, for how long, which pairs are served by one side, and what clients will
notice. --begin says when you mean to start it; the times follow from the plan and from its
windows. Announce again when that changes: calendars move the event that they have. After the
roll both say what really happened.

` + exitHelp,
		Example: "  stowage roll announce roll-001 --begin '2026-12-03 22:00'",
		RunE: func(_ *cobra.Command, given []string) error {
			from := time.Now()
			if begin != "" {
				var err error
				if from, err = parseTime("--begin", begin); err != nil {
					return err
				}
			}
			return a.announce(given[0], from)
		},
	}
	cmd.Flags().StringVar(&begin, "begin", "", "when the roll is started, '2026-12-03 22:00' (UTC); default: now")
	return cmd
}

// announced is what --json prints.
type announced struct {
	FormatVersion int       `json:"format_version"`
	Plan          string    `json:"plan"`
	Begin         time.Time `json:"begin"`
	End           time.Time `json:"end"`
	Over          bool      `json:"over"` // every host is back: the times are those that were
	Edition       int       `json:"edition"`
	Files         []string  `json:"files"`

	text []byte
}

func (x announced) WriteText(w io.Writer) error {
	_, err := w.Write(x.text)
	return err
}

var edition = lazy.Regexp(`(?m)^SEQUENCE:(\d+)\r?$`)

func (a *app) announce(name string, from time.Time) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	p, err := d.Roll(name)
	if err != nil {
		return err
	}
	n, err := roll.Announce(d.Store, p, from)
	if err != nil {
		return err
	}
	before, err := d.Calendar(name)
	if err != nil {
		return err
	}
	x := announced{FormatVersion: 1, Plan: p.Name, Begin: n.Begin().UTC(), End: n.End().UTC(), Over: n.IsOver()}
	if m := edition().FindStringSubmatch(before); m != nil {
		last, _ := strconv.Atoi(m[1]) // it is digits
		x.Edition = last + 1
	}
	var text, calendar bytes.Buffer
	if err := n.WriteMarkdown(&text); err != nil {
		return err
	}
	if err := n.WriteCalendar(&calendar, x.Edition, time.Now()); err != nil {
		return err
	}
	if x.Files, err = d.SaveAnnouncement(name, text.Bytes(), calendar.Bytes()); err != nil {
		return err
	}
	x.text = text.Bytes()
	a.say("wrote %s and %s", x.Files[0], x.Files[1])
	return a.emit(x, x.WriteText, a.cmd("roll %s", name))
}
