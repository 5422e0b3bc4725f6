package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// ScheduledEvent is one row of the event scheduler. Everything but Status must
// be the same on both sides of a pair.
type ScheduledEvent struct {
	Schema, Name string
	Status       string // ENABLED, DISABLED, SLAVESIDE_DISABLED
	Definer      string // user@host
	SQLMode      string
	TimeZone     string
	Charset      string // character_set_client it was written with
	Collation    string // collation_connection it was written with
	Schedule     string
	Body         string
}

// ScheduledEvents are the events of all databases on the server, by name.
func (s *Server) ScheduledEvents(ctx context.Context) ([]ScheduledEvent, error) {
	records, err := s.records(ctx, `SELECT EVENT_SCHEMA, EVENT_NAME, STATUS, DEFINER, SQL_MODE, TIME_ZONE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION,
			CONCAT_WS(' ', EVENT_TYPE, EXECUTE_AT, INTERVAL_VALUE, INTERVAL_FIELD, STARTS, ENDS, ON_COMPLETION) AS schedule, EVENT_DEFINITION AS body
		FROM information_schema.EVENTS ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	var out []ScheduledEvent
	for _, r := range records {
		out = append(out, ScheduledEvent{r["EVENT_SCHEMA"], r["EVENT_NAME"], eventStatus(r["STATUS"]), r["DEFINER"], r["SQL_MODE"], r["TIME_ZONE"],
			r["CHARACTER_SET_CLIENT"], r["COLLATION_CONNECTION"], r["schedule"], r["body"]})
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
	return s.switchAlone(ctx, "SET GLOBAL event_scheduler = "+want)
}

// SetEvents gives each event the status it should have on this server, without
// writing it to the binary log: a seeded copy carries the statuses of the side
// it was copied from, and would fire that side's events a second time. Events
// that are right already are left alone; afterwards all are read back.
func (s *Server) SetEvents(ctx context.Context, want []ScheduledEvent) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	has, err := s.ScheduledEvents(ctx)
	if err != nil {
		return err
	}
	now := map[string]ScheduledEvent{}
	for _, e := range has {
		now[e.key()] = e
	}
	err = s.unlogged(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, e := range want {
			if now[e.key()].Status == e.Status {
				continue
			}
			if err := setEvent(ctx, conn, e, d.replicaDisabled); err != nil {
				return fmt.Errorf("event %s: %w", e.key(), err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.checkEvents(ctx, want)
}

// eventStatus is the word for a status that all flavors know: MySQL since 8.2
// says REPLICA_SIDE_DISABLED.
func eventStatus(text string) string {
	if text == "REPLICA_SIDE_DISABLED" {
		return "SLAVESIDE_DISABLED"
	}
	return text
}

func (e ScheduledEvent) key() string { return e.Schema + "." + e.Name }

// setEvent changes the status of one event and nothing else. ALTER EVENT by
// itself would also make the caller its definer, who may not be allowed to do
// what it does, and give it the caller's SQL mode, time zone and character set.
func setEvent(ctx context.Context, conn *sql.Conn, e ScheduledEvent, replicaDisabled string) error {
	clause := map[string]string{"ENABLED": "ENABLE", "DISABLED": "DISABLE", "SLAVESIDE_DISABLED": replicaDisabled}[e.Status]
	if clause == "" {
		return fmt.Errorf("unknown status %q", e.Status)
	}
	user, host := e.Definer, "%"
	if at := strings.LastIndexByte(e.Definer, '@'); at >= 0 {
		user, host = e.Definer[:at], e.Definer[at+1:]
	}
	for _, text := range []string{
		"SET SESSION sql_mode = " + quote(e.SQLMode) + ", time_zone = " + quote(e.TimeZone) +
			", character_set_client = " + quote(e.Charset) + ", collation_connection = " + quote(e.Collation),
		"ALTER DEFINER = " + quote(user) + "@" + quote(host) + " EVENT " + ident(e.Schema) + "." + ident(e.Name) + " " + clause,
	} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) checkEvents(ctx context.Context, want []ScheduledEvent) error {
	is, err := s.ScheduledEvents(ctx)
	if err != nil {
		return err
	}
	now := map[string]ScheduledEvent{}
	for _, e := range is {
		now[e.key()] = e
	}
	for _, e := range want {
		if now[e.key()] != e {
			return s.fail("set event "+e.key(), fmt.Errorf("it is %+v, must be %+v", now[e.key()], e))
		}
	}
	return nil
}

// unlogged runs work on a connection of its own that writes nothing to the
// binary log, and throws the connection away with all that was set in it.
func (s *Server) unlogged(ctx context.Context, work func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail("connect", err)
	}
	defer Discard(conn)
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_log_bin = 0"); err != nil {
		return s.fail("SET sql_log_bin", err)
	}
	return s.fail("change without binary log", work(ctx, conn))
}
