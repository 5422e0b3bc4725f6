package roll

import (
	"bytes"
	"strings"
	"testing"
	"time"

	goical "github.com/emersion/go-ical"

	"stowage/due"
	"stowage/engine"
	"stowage/farm"
	"stowage/roll/agenda"
)

func exampleAnnouncement(t *testing.T) Announcement {
	t.Helper()
	p := agenda.Plan{Name: "roll-001", Made: "2026-11-25T10:00:00Z", HostSeconds: 3600, Windows: []due.Window{{From: "22:00", To: "00:00"}},
		Work:    agenda.Work{Steps: []agenda.Step{{Command: []string{"/usr/local/sbin/patch", "--all", "größer, schneller; besser"}}, {Restart: true}}, Changes: []string{"version"}},
		Hosts:   []agenda.Host{{Name: "db1", Instances: []agenda.Instance{{Pair: "p_1", Side: farm.A}}}, {Name: "db2", Instances: []agenda.Instance{{Pair: "p_1", Side: farm.B}}}, {Name: "db3"}},
		Batches: []agenda.Batch{{Hosts: []farm.HostName{"db1"}, OneLeg: []agenda.OneLeg{{Pair: "p_1", Out: farm.A, On: "db2"}}}, {Hosts: []farm.HostName{"db2"}}, {Hosts: []farm.HostName{"db3"}}}}
	return Announcement{Plan: p, Turns: p.Schedule(time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC))}
}

// TestCalendarIsReadByOthers: a parser that is not ours finds one event with the times of the plan, and its whole text.
func TestCalendarIsReadByOthers(t *testing.T) {
	a := exampleAnnouncement(t)
	var uid string
	for edition, want := range []struct{ begin, end string }{{"2026-12-03T22:00:00Z", "2026-12-04T23:00:00Z"}, {"2026-12-03T22:01:00Z", "2026-12-04T23:30:00Z"}} {
		if edition == 1 { // afterwards
			at := func(text string) time.Time { out, _ := time.Parse(time.RFC3339, text); return out }
			a.Happened = []HostEnd{{Host: "db1", End: engine.EndDone, Out: at("2026-12-03T22:01:00Z"), Back: at("2026-12-03T22:31:00Z")},
				{Host: "db2", End: engine.EndDone, Out: at("2026-12-03T23:00:00Z"), Back: at("2026-12-03T23:30:00Z")},
				{Host: "db3", End: engine.EndDone, Out: at("2026-12-04T23:00:00Z"), Back: at("2026-12-04T23:30:00Z")}}
		}
		var out bytes.Buffer
		if err := a.WriteCalendar(&out, edition, time.Now()); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasSuffix(line, "\r\n") || len(line) > 77 {
				t.Errorf("line of %d octets: %q", len(line), line)
			}
		}
		cal, err := goical.NewDecoder(&out).Decode()
		if err != nil {
			t.Fatal(err)
		}
		events := cal.Events()
		if len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		e := events[0]
		begin, _ := e.DateTimeStart(time.UTC)
		end, _ := e.DateTimeEnd(time.UTC)
		if begin.Format(time.RFC3339) != want.begin || end.Format(time.RFC3339) != want.end {
			t.Errorf("from %v to %v, want %v", begin, end, want)
		}
		text, err := e.Props.Text("DESCRIPTION")
		if err != nil || !strings.Contains(text, "größer, schneller; besser") || !strings.Contains(text, "Thu 3 Dec 2026 23:00 UTC: db2\n") {
			t.Errorf("text %q, %v", text, err)
		}
		id, _ := e.Props.Text("UID")
		if seq := e.Props.Get("SEQUENCE"); seq == nil || seq.Value != string(rune('0'+edition)) || uid != "" && uid != id {
			t.Errorf("edition %d: sequence %v, identity %q, was %q", edition, seq, id, uid)
		}
		uid = id
	}
}

func TestMarkdownSaysWhatIsExpectedAndWhatHappened(t *testing.T) {
	a := exampleAnnouncement(t)
	says := func(want ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := a.WriteMarkdown(&out); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("it does not say %q:\n%s", w, out.String())
			}
		}
	}
	says("# Maintenance of 3 database hosts: roll-001\n", "Thu 3 Dec 2026 22:00 UTC to Fri 4 Dec 2026 23:00 UTC", `| db1 | p\_1 (on db2) |`, "every day 22:00 to 00:00 UTC", "2. restart its instances")
	code := 3
	a.Happened = []HostEnd{{Host: "db1", End: engine.EndStuck, CommandRC: &code, Out: a.Turns[0].Begin, SecondsOut: 100}}
	says("## What happened", "| db1 | Thu 3 Dec 2026 22:00 UTC | still out | 100.0 | stuck |", "2 hosts have not begun")
}

// What clients should expect follows from what each side is in its pair.
func TestEffectIsSaidByRole(t *testing.T) {
	a := Announcement{Plan: agenda.Plan{HostSeconds: 90, Hosts: []agenda.Host{{Instances: []agenda.Instance{
		{Pair: "p1", Role: agenda.Primary}, {Pair: "p2", Role: agenda.Primary}, {Pair: "p3", Role: agenda.Replica}, {Pair: "p4", Role: agenda.Single}}}}}}
	for _, want := range []string{"The writes of 2 pairs go to a replica", "Reads from the replicas of 1 pair go elsewhere", "The clients of 1 single instance wait for about 1m30s."} {
		if got := a.effect(); !strings.Contains(got, want) {
			t.Errorf("want %q in %q", want, got)
		}
	}
}
