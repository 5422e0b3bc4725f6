package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// live is what open pages are kept up to date with. However many look, the workspace is read once.
type live struct {
	every time.Duration

	mu  sync.Mutex
	at  time.Time
	now state
}

// state is the newest move as it was read last.
type state struct {
	move Move
	err  error
	id   string // of what the stream says of it
	raw  []byte // that, as one line
}

// patience is how long reading may take; routing of a farm, or a disk, may hang.
const patience = 5 * time.Second

// beat is how often the stream says that it is there although nothing is new.
const beat = 2 * time.Second

// look is the newest state, at most Every old.
func (s *Server) look(ctx context.Context) state {
	l := &s.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < l.every {
		return l.now
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience) // others wait for the answer, too
	defer stop()
	var now state
	now.move, now.err = s.Move(ctx)
	now.id, now.raw = s.said(now)
	l.now, l.at = now, time.Now()
	return now
}

// said is what the stream says of a state: parts of pages as they are to be now, and a sentence for who listens rather than looks.
func (s *Server) said(now state) (id string, raw []byte) {
	p := &page{Move: now.move, IsLive: true}
	p.take(now.err)
	p.Home.Tiles = moveTiles(now.move)
	parts := map[string]string{}
	for _, name := range []string{"banner", "move"} {
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, name, p); err != nil {
			s.Log.Error("write part", "part", name, "error", err)
			continue
		}
		parts[name] = b.String()
	}
	raw, err := json.Marshal(map[string]any{"parts": parts, "spoken": spoken(p)})
	if err != nil {
		s.Log.Error("write stream", "error", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), raw
}

// spoken is a state in a sentence that changes seldom enough to be read out.
func spoken(p *page) string {
	m := p.Move
	var out []string
	for _, f := range p.Faults {
		out = append(out, f.Text)
	}
	out = append(out, m.Alarms...)
	for _, w := range m.Waits {
		out = append(out, fmt.Sprintf("%s waits for a person before %s", w.Part, w.Step))
	}
	if m.Run != "" {
		out = append(out, fmt.Sprintf("move %s: %d of %d done", m.State, m.Done, m.Sides))
	}
	return strings.Join(out, "; ")
}

// stream tells a page what has changed, for as long as it is open.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	c := http.NewResponseController(w)
	send := func(text string) bool {
		_ = c.SetWriteDeadline(time.Now().Add(patience)) // not every connection has one
		_, err := fmt.Fprint(w, text)
		return err == nil && c.Flush() == nil
	}
	if !send("retry: 1000\n\n") {
		return
	}
	known := r.Header.Get("Last-Event-ID")
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	var told time.Time
	for {
		now := s.look(r.Context())
		text := ""
		switch {
		case now.id != known:
			text = fmt.Sprintf("id: %s\nevent: state\ndata: %s\n\n", now.id, now.raw)
		case time.Since(told) >= beat:
			text = "event: beat\ndata: \n\n"
		}
		if text != "" {
			if !send(text) {
				return
			}
			known, told = now.id, time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
