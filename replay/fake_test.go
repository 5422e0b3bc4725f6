package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"stowage/mysql/traffic"
)

// stage is a server of the mind: it takes time and remembers, so that order
// and pace can be looked at inside a bubble of testing/synctest. What it
// answers means nothing; answers are tested with real servers.
type stage struct {
	mu    sync.Mutex
	takes func(text string) time.Duration
	dies  func(n int) bool // whether the n-th statement breaks its connection
	shut  bool             // takes no connections

	log   []performance
	open  int
	most  int
	dials int
}

// performance is one statement that was sent.
type performance struct {
	conn       int
	text       string
	began, end time.Time
}

func (s *stage) door(context.Context, string) (Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, errors.New("refused")
	}
	s.open++
	s.dials++
	s.most = max(s.most, s.open)
	return &actor{s: s, id: s.dials}, nil
}

func (s *stage) texts() (out []string) {
	for _, p := range s.log {
		out = append(out, p.text)
	}
	return out
}

type actor struct {
	s      *stage
	id     int
	closed bool
}

func (a *actor) Query(ctx context.Context, text string, _ bool) (traffic.Answer, error) {
	began := time.Now()
	var d time.Duration
	if a.s.takes != nil {
		d = a.s.takes(text)
	}
	if !sleepUntil(ctx, began.Add(d)) {
		return traffic.Answer{}, fmt.Errorf("%w: %w", traffic.ErrLost, context.Cause(ctx))
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.s.log = append(a.s.log, performance{a.id, text, began, time.Now()})
	if a.s.dies != nil && a.s.dies(len(a.s.log)) {
		return traffic.Answer{}, traffic.ErrLost
	}
	return traffic.Answer{Took: time.Since(began), Rows: 1}, nil
}

func (a *actor) Execute(ctx context.Context, text string, values []any, sum bool) (traffic.Answer, error) {
	return a.Query(ctx, fmt.Sprint(text, values), sum)
}

func (a *actor) Use(ctx context.Context, db string) (traffic.Answer, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.s.log = append(a.s.log, performance{a.id, "USE " + db, time.Now(), time.Now()})
	return traffic.Answer{}, nil
}

func (a *actor) Mode(context.Context) (string, error) { return "", nil }

func (a *actor) RoundTrip(context.Context) (time.Duration, error) { return 0, nil }

func (a *actor) Close() error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if !a.closed {
		a.closed = true
		a.s.open--
	}
	return nil
}

// text is an input of that content.
func text(name, content string) Input {
	return Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

// event writes an event as MySQL 8 does: the stamp is the end.
func event(end time.Time, thread int, took time.Duration, statement string) string {
	return fmt.Sprintf("# Time: %s\n# User@Host: app[app] @ web1 [10.0.0.1]  Id: %5d\n# Query_time: %.6f  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\n%s;\n",
		end.UTC().Format("2006-01-02T15:04:05.000000Z"), thread, took.Seconds(), end.Unix(), statement)
}

// mariaEvent writes an event as MariaDB 10.11 does: the stamp is the second of
// the beginning, and the log is in the order of the ends.
func mariaEvent(start time.Time, thread int, took time.Duration, statement string) string {
	return fmt.Sprintf("# Time: %s\n# User@Host: app[app] @  [127.0.0.1]\n# Thread_id: %d  Schema: shop  QC_hit: No\n# Query_time: %.6f  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 59\nSET timestamp=%d;\n%s;\n",
		start.UTC().Format("060102 15:04:05"), thread, took.Seconds(), start.Unix(), statement)
}
