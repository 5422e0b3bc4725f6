package main

import (
	"fmt"
	"io"

	"stowage/farm"
	"stowage/record"
)

func writeKept(w io.Writer, kept []record.Kept) {
	for _, k := range kept {
		fmt.Fprintf(w, "  %s was changed by someone else meanwhile and stays %q; before the recording it was %q\n", k.Name, k.Now, k.Old)
	}
}

// writeRecorded says what a person should know about one instance's window.
func writeRecorded(w io.Writer, r record.Result) {
	if r.Late > 0 {
		fmt.Fprintf(w, "  its agent was late: this window began %.1f s after the others\n", r.Late)
	}
	if r.SessionsNotCaptured > 0 {
		fmt.Fprintf(w, "  not captured: %s connected before the window, %d until its end; --from network sees them\n", farm.Counted(r.SessionsNotCaptured, "session"), r.StillNotCaptured)
	}
	switch {
	case r.SessionsLeft > 0 && r.SlowLogIsOn:
		fmt.Fprintf(w, "  %s came during the window, keep long_query_time=0 and log every statement into the server's own slow log until they end: watch its size\n", farm.Counted(r.SessionsLeft, "session"))
	case r.SessionsLeft > 0:
		fmt.Fprintf(w, "  %s came during the window and keep long_query_time=0 until they end; the slow log is off\n", farm.Counted(r.SessionsLeft, "session"))
	}
	if r.SocketSessions > 0 {
		fmt.Fprintf(w, "  %d sessions were on the server's Unix socket, which the network does not see\n", r.SocketSessions)
	}
	if r.Dropped > 0 {
		fmt.Fprintf(w, "  %d of %d packets were dropped by the kernel: the digest is not whole\n", r.Dropped, r.Packets+r.Dropped)
	}
	if r.Restarted {
		fmt.Fprintln(w, "  the server was restarted during the window")
	}
	writeKept(w, r.SettingsLeft)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "  note: %s\n", n)
	}
}

func (s recordSummary) writeText(w io.Writer) error {
	for _, r := range s.Instances {
		if r.Error != "" && r.Events == 0 {
			fmt.Fprintf(w, "%s: not recorded\n", r.Instance)
			continue
		}
		fmt.Fprintf(w, "%s: %s in %.1f s, %s; ended: %s", r.Instance, farm.Counted(r.Events, "event"), r.Seconds, farm.RoundQuantity(float64(r.Bytes), farm.KindBytes), r.Stopped)
		if r.Detail != "" {
			fmt.Fprintf(w, " (%s)", r.Detail)
		}
		fmt.Fprintln(w)
		writeRecorded(w, r)
	}
	if s.Events == 0 {
		_, err := fmt.Fprintln(w, "nothing was recorded")
		return err
	}
	_, err := fmt.Fprintf(w, "%s of %s kept as %s\n", farm.Counted(s.Events, "event"), farm.Counted(len(s.Instances), "instance"), s.Save)
	return err
}
