package mysql

import (
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
)

// TestSetEventsMirrorsStatuses: the copy gets the statuses of the side it
// replaces, and nothing else of its events changes. Nothing is written to the
// binary log: the twin has its own statuses.
func TestSetEventsMirrorsStatuses(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "side")
	bi, b := start(t, "copy")
	define := []string{
		"CREATE DATABASE d",
		"CREATE USER owner@'10.%'",
		"SET SESSION sql_mode = 'ANSI_QUOTES'",
		"CREATE DEFINER = owner@'10.%' EVENT d.one ON SCHEDULE EVERY 1 DAY STARTS '2021-01-01' COMMENT 'first' DO SELECT \"x\" FROM (SELECT 1 AS x) AS y",
		"CREATE EVENT d.`two``b` ON SCHEDULE EVERY 1 DAY STARTS '2021-01-01' DISABLE DO SELECT 2",
		"CREATE EVENT d.three ON SCHEDULE EVERY 1 DAY STARTS '2021-01-01' DISABLE ON SLAVE DO SELECT 3",
	}
	ai.Exec(t, define...)
	bi.Exec(t, append([]string{"SET SESSION sql_log_bin=0"}, define...)...)
	bi.Exec(t, "SET SESSION sql_log_bin=0",
		"ALTER DEFINER = owner@'10.%' EVENT d.one DISABLE ON SLAVE", "ALTER EVENT d.`two``b` ENABLE", "ALTER EVENT d.three ENABLE")
	want, err := a.ScheduledEvents(t.Context())
	must(t, err)
	if got := statuses(want); got != "d.one ENABLED, d.three SLAVESIDE_DISABLED, d.two`b DISABLED" {
		t.Fatalf("events of the side: %s", got)
	}
	place, all := masterStatus(t, bi), eventText(t, bi)
	for range 2 {
		must(t, b.SetEvents(t.Context(), want))
		got, err := b.ScheduledEvents(t.Context())
		must(t, err)
		if statuses(got) != statuses(want) {
			t.Errorf("events of the copy: %s, want %s", statuses(got), statuses(want))
		}
	}
	if now := masterStatus(t, bi); now != place {
		t.Errorf("the binary log went from %v to %v", place, now)
	}
	if now := eventText(t, bi); now != all {
		t.Errorf("more than the status has changed:\nwas %s\nis  %s", all, now)
	}
	if got := bi.Value(t, "SELECT @@GLOBAL.sql_log_bin"); got == "0" {
		t.Error("the binary log is off for everybody")
	}
	must(t, b.Build(t.Context(), []string{"CREATE DATABASE logged"})) // on whichever connection the pool gives
	if masterStatus(t, bi) == place {
		t.Error("the connection that was used writes no binary log any more")
	}
}

func statuses(events []ScheduledEvent) string {
	var parts []string
	for _, e := range events {
		parts = append(parts, e.Schema+"."+e.Name+" "+e.Status)
	}
	return strings.Join(parts, ", ")
}

// eventText is all of the events but their status.
func eventText(t testing.TB, i *mariadbtest.Instance) string {
	return i.Value(t, `SELECT GROUP_CONCAT(CONCAT_WS('|', EVENT_SCHEMA, EVENT_NAME, DEFINER, TIME_ZONE, EVENT_DEFINITION, INTERVAL_VALUE, SQL_MODE,
		ON_COMPLETION, EVENT_COMMENT, STARTS, CHARACTER_SET_CLIENT, COLLATION_CONNECTION) ORDER BY EVENT_NAME SEPARATOR '\n') FROM information_schema.EVENTS`)
}

func TestSetEventsSaysWhichEvent(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d")
	for status, says := range map[string]string{"ENABLED": "d.gone", "ODD": `unknown status "ODD"`} {
		err := s.SetEvents(t.Context(), []ScheduledEvent{{Schema: "d", Name: "gone", Status: status, Definer: "root@localhost", TimeZone: "SYSTEM", Charset: "utf8mb4", Collation: "utf8mb4_general_ci"}})
		if err == nil || !strings.Contains(err.Error(), "gone") || !strings.Contains(strings.ReplaceAll(err.Error(), "`", ""), says) {
			t.Errorf("status %s: %v, want it to say %s", status, err, says)
		}
	}
}

func TestSetScheduler(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	for _, on := range []bool{true, true, false, false} {
		must(t, s.SetScheduler(t.Context(), on))
		if got, want := i.Value(t, "SELECT @@GLOBAL.event_scheduler"), map[bool]string{true: "ON", false: "OFF"}[on]; got != want {
			t.Errorf("event_scheduler is %s, want %s", got, want)
		}
	}
	i, s = start(t, "never", "--event-scheduler=DISABLED")
	for _, on := range []bool{true, false} {
		must(t, s.SetScheduler(t.Context(), on))
	}
	if got := i.Value(t, "SELECT @@GLOBAL.event_scheduler"); got != "DISABLED" {
		t.Errorf("event_scheduler is %s", got)
	}
}
