package mysql

import (
	"context"
	"database/sql"
	"fmt"
)

// ScheduledEvent is one row of the event scheduler.
type ScheduledEvent struct {
	Schema, Name string
	Status       string // ENABLED, DISABLED, SLAVESIDE_DISABLED
}

// ScheduledEvents are the events of all databases on the server.
func (s *Server) ScheduledEvents(ctx context.Context) ([]ScheduledEvent, error) {
	records, err := s.records(ctx, "SELECT EVENT_SCHEMA, EVENT_NAME, STATUS FROM information_schema.EVENTS ORDER BY 1, 2")
	if err != nil {
		return nil, err
	}
	var out []ScheduledEvent
	for _, r := range records {
		out = append(out, ScheduledEvent{r["EVENT_SCHEMA"], r["EVENT_NAME"], r["STATUS"]})
	}
	return out, nil
}

// SetScheduler turns the event scheduler on or off and returns nothing done
// when it is disabled at start-up ("DISABLED" cannot be changed at run time).
func (s *Server) SetScheduler(ctx context.Context, on bool) error {
	vars, err := s.Variables(ctx, "event_scheduler")
	if err != nil {
		return err
	}
	want := "OFF"
	if on {
		want = "ON"
	}
	if vars["event_scheduler"] == want || vars["event_scheduler"] == "DISABLED" {
		return nil
	}
	return s.exec(ctx, "SET GLOBAL event_scheduler = "+want)
}

// SetEvents gives each event the status it should have on this server, without
// writing it to the binary log: a seeded copy carries the statuses of the side
// it was copied from, and would fire that side's events a second time.
func (s *Server) SetEvents(ctx context.Context, events []ScheduledEvent) error {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	return s.unlogged(ctx, func(conn *sql.Conn) error {
		for _, e := range events {
			clause := map[string]string{"ENABLED": "ENABLE", "DISABLED": "DISABLE", "SLAVESIDE_DISABLED": "DISABLE ON SLAVE"}[e.Status]
			if clause == "" {
				return fmt.Errorf("event %s.%s has unknown status %q", e.Schema, e.Name, e.Status)
			}
			text := "ALTER EVENT " + ident(e.Schema) + "." + ident(e.Name) + " " + clause
			if _, err := conn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// unlogged runs work on one connection that writes nothing to the binary log.
func (s *Server) unlogged(ctx context.Context, work func(*sql.Conn) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail("connect", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_log_bin = 0"); err != nil {
		return s.fail("SET sql_log_bin", err)
	}
	err = work(conn)
	if _, back := conn.ExecContext(ctx, "SET SESSION sql_log_bin = 1"); back != nil {
		_ = conn.Raw(func(any) error { return errBadConnection }) // never reuse it
	}
	return s.fail("change without binary log", err)
}
