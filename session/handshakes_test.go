package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stowage/agent"
	"stowage/farm"
)

// comeAfter are agents that answer after so long, or never.
type comeAfter map[farm.HostName]time.Duration

func (c comeAfter) handshakes(t *testing.T, patience time.Duration) (m *Handshakes, said *[]string) {
	t.Helper()
	ctx, quit := context.WithCancel(t.Context())
	said = &[]string{}
	m = newHandshakes(ctx, quit, func(h farm.HostName) (agent.Meeting, error) {
		wait, comes := c[h]
		if !comes {
			<-ctx.Done()
			return agent.Meeting{}, ctx.Err()
		}
		select {
		case <-time.After(wait):
			return agent.Meeting{Host: h}, nil
		case <-ctx.Done():
			return agent.Meeting{}, ctx.Err()
		}
	}, func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }, patience)
	return m, said
}

// A farm of sixty hosts is waited for, with a word on how far it is; who does
// not come is named, and may come later.
func TestAgentsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts, come := []farm.HostName{}, comeAfter{}
		for n := range 60 {
			h := farm.HostName(fmt.Sprintf("db%03d", n+1))
			hosts = append(hosts, h)
			come[h] = time.Duration(n) * 500 * time.Millisecond
		}
		delete(come, "db007")
		come["db009"] = 80 * time.Second
		m, said := come.handshakes(t, time.Minute)
		began := time.Now()
		if away := m.Gather(t.Context(), hosts); !slices.Equal(away, []farm.HostName{"db007", "db009"}) {
			t.Errorf("away: %v", away)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("they were waited for for %v", took)
		}
		if !slices.Contains(*said, "waiting for agents: 58 of 60 have answered") || len(*said) < 10 || len(*said) > 12 {
			t.Errorf("said: %q", *said)
		}
		n := len(*said)
		if x, err := m.WaitUntil(t.Context(), "db009", began.Add(90*time.Second)); err != nil || x.Host != "db009" {
			t.Errorf("the one that is late: %v, %v", x, err)
		}
		if len(*said) != n {
			t.Errorf("said of those that are waited for no more: %q", (*said)[n:])
		}
		_, err := m.WaitUntil(t.Context(), "db007", began.Add(100*time.Second))
		if !isAway(err) || !strings.Contains(err.Error(), "the agent of db007 has not answered within 1m40s") || farm.Hint(err) == "" {
			t.Errorf("the one that does not come: %v", err)
		}
		m.end()
	})
}

// Nobody waits when all are there, and one that is asked later has found the
// engine by then.
func TestAgentsThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, said := comeAfter{"a": 0, "b": time.Second}.handshakes(t, time.Minute)
		defer m.end()
		began := time.Now()
		if away := m.Gather(t.Context(), []farm.HostName{"a", "b"}); len(away) > 0 || time.Since(began) != time.Second || len(*said) > 0 {
			t.Errorf("away %v after %v, said %q", away, time.Since(began), *said)
		}
		time.Sleep(time.Hour)
		began = time.Now()
		if _, err := m.Wait(t.Context(), "c"); !isAway(err) || time.Since(began) != AgentAnswer {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Wait(ctx, "d"); !errors.Is(err, farm.ErrInterrupted) {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// One message names all agents that were away, beside what else went wrong.
func TestOneMessageForAllAgentsThatAreAway(t *testing.T) {
	away := func(h farm.HostName) error {
		return &farm.Error{Op: "meet agent", Err: &awayError{[]farm.HostName{h}, 90 * time.Second}}
	}
	got := Together([]error{away("db003"), errors.New("the disk is full"), away("db001"), away("db003")})
	if len(got) != 2 || got[0].Error() != "the disk is full" || !strings.HasSuffix(got[1].Error(), "2 agents have not answered within 1m30s: db001, db003") {
		t.Errorf("%v", got)
	}
}
