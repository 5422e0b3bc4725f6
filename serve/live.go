package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
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
	move    Move
	roll    Roll
	err     error
	rollErr error
	id      string            // of what the stream says of it
	parts   map[string]string // of pages, as they are to be
	extra   map[string]string // of pages that show pairs
	pairs   string            // how these are divided
	spoken  string            // for who listens rather than looks
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
	now.roll, now.rollErr = s.Roll(ctx)
	s.say(&now)
	l.now, l.at = now, time.Now()
	return now
}

// say fills in what the stream says of a state: parts of pages as they are to be now, and a sentence.
func (s *Server) say(now *state) {
	p := &page{Move: now.move, Roll: now.roll, IsLive: true}
	p.take(now.err)
	p.take(now.rollErr)
	p.Home.Tiles = moveTiles(now.move)
	now.parts, now.spoken = map[string]string{}, spoken(p)
	for _, name := range []string{"banner", "move"} {
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, name, p); err != nil {
			s.Log.Error("write part", "part", name, "error", err)
			continue
		}
		now.parts[name] = b.String()
	}
	board := now.roll.Board
	now.parts["roll"], now.parts["roll-now"] = string(board.Head), string(board.Now)
	for n, rack := range board.Racks {
		now.parts[rackPart(n)] = string(rack)
	}
	now.id = partsID(now.parts, now.spoken, board.Plan)
}

// partsID is the same for parts, and more, that are the same.
func partsID(parts map[string]string, more ...string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(sum, "%q %q ", name, parts[name])
	}
	fmt.Fprintf(sum, "%q", more)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// rollParts begin the names of parts that only a page about a roll has.
var rollParts = []string{"roll", "rack-"}

// news is a state as one line for a page that has these parts already, or an older form of them. It notes what the page has then. A roll of 2,000 hosts has half a
// megabyte of racks: only pages about it are sent them, and only those racks in which a host has gone on.
func (s *Server) news(now state, aboutRoll bool, has map[string]string) []byte {
	parts := map[string]string{}
	for name, html := range now.parts {
		if !aboutRoll && slices.ContainsFunc(rollParts, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if old, known := has[name]; !known || old != html {
			parts[name], has[name] = html, html
		}
	}
	for name, html := range now.extra {
		if old, known := has[name]; !known || old != html {
			parts[name], has[name] = html, html
		}
	}
	raw, err := json.Marshal(map[string]any{"parts": parts, "spoken": now.spoken, "roll": now.roll.Board.Plan, "pairs": now.pairs})
	if err != nil {
		s.Log.Error("write stream", "error", err)
	}
	return raw
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
	if p.Roll.IsOpen {
		out = append(out, p.Roll.Spoken)
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
	known, has, aboutRoll := r.Header.Get("Last-Event-ID"), map[string]string{}, r.URL.Query().Has("roll")
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	var told time.Time
	for {
		if _, known := s.door.visitor(r); !known {
			return // the token was removed
		}
		now := s.look(r.Context())
		if r.URL.Query().Has("pairs") {
			s.addTopology(&now, groupOf(r))
		}
		text := ""
		switch {
		case now.id != known:
			text = fmt.Sprintf("id: %s\nevent: state\ndata: %s\n\n", now.id, s.news(now, aboutRoll, has))
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
