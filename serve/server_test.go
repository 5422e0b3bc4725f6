package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/report"
)

// stage is a server whose facts a test changes.
type stage struct {
	*Server
	mu    sync.Mutex
	move  Move
	roll  Roll
	fault error // of everything that is read
	asked int   // how often the move was read
}

func newStage() *stage {
	s := &stage{move: Move{State: "running", Run: "move-first-1", Plan: "first", Sides: 2, JSON: map[string]string{"state": "running"}, Command: "stowage -C /srv/farm status"}}
	get := func() error { s.mu.Lock(); defer s.mu.Unlock(); return s.fault }
	s.Server = New(Options{Listen: "127.0.0.1:8306", Dir: "/srv/farm", Every: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Sources: Sources{
		Farm: func() (Farm, error) { return Farm{Name: "small", Hosts: 4, Instances: 4, Pairs: 2, Shards: 3}, get() },
		Move: func(context.Context) (Move, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked++
			return s.move, s.fault
		},
		Roll: func(context.Context) (Roll, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.roll, s.fault },
		Rolled: func() (report.Piece, error) {
			return report.Piece{Title: "Roll roll-001", Body: "<p>each host</p>"}, get()
		},
		History: func() (report.Piece, error) { return report.Piece{}, get() },
		Topology: func(now Move, group string) (report.TopologyBoard, error) {
			b := report.TopologyBoard{Key: "2 1 " + group, Head: "<p>two pairs</p>", Style: ".drawn { color: red }"}
			for _, l := range now.Lanes {
				b.Blocks = append(b.Blocks, template.HTML("<p>"+template.HTMLEscapeString(l.Name+" "+l.Step)+"</p>"))
			}
			return b, get()
		},
		Benches: func() ([]Bench, error) {
			return []Bench{{File: "bench/a.json", Kind: "run", Verdict: "Valid. All of it."}, {File: "bench/bad.json", Kind: "run", Fault: "it is not JSON (measure again)"}}, get()
		},
		Bench: func(files []string) (Shown, error) {
			return Shown{Piece: report.Piece{Title: "one", Body: "<p>drawn</p>", Style: ".own { color: red }"}, JSON: files}, get()
		},
		Plans: func() ([]Plan, error) {
			return []Plan{{Name: "first", Made: "2026-11-21T10:00:00Z", HostsBefore: 4, HostsUsed: 2}}, get()
		},
		Plan: func(name string) (Shown, error) {
			return Shown{Piece: report.Piece{Title: "plan " + name}}, get()
		},
		PlanFacts: func(name string) (any, error) { return name, get() },
		Digests:   func() ([]Kept, error) { return []Kept{{Name: "before"}}, get() },
		Proof: func() (Shown, error) {
			return Shown{Piece: report.Piece{Verdict: "faster"}, JSON: 1, Note: "in figures"}, get()
		},
		Metrics: func(w io.Writer) error {
			_, err := io.WriteString(w, "stowage_build_info 1\n")
			return errors.Join(get(), err)
		},
		Report: func(w io.Writer) error {
			_, err := io.WriteString(w, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-x&#39;">`)
			return errors.Join(get(), err)
		},
	}})
	return s
}

func (s *stage) set(change func(*Move)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.move)
}

// ask asks as a browser at 127.0.0.1:8306 does, with a cookie or without.
func (s *stage) ask(method, path, host, cookie string) *http.Response {
	r := httptest.NewRequest(method, "http://"+host+path, nil)
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

const here = "127.0.0.1:8306"

// path is a link without its host.
func path(link string) string { return strings.TrimPrefix(link, "http://"+here) }

// enter spends the link and returns the cookie.
func (s *stage) enter(t *testing.T) string {
	t.Helper()
	a := s.ask("GET", path(s.Link(here)), here, "")
	if a.StatusCode != http.StatusOK || len(a.Cookies()) != 1 {
		t.Fatalf("entering: %d, cookies %v", a.StatusCode, a.Cookies())
	}
	c := a.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge != 0 || len(c.Value) < 40 {
		t.Errorf("cookie %+v", c)
	}
	return c.Name + "=" + c.Value
}

func body(t *testing.T, a *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheLinkWorksOnce(t *testing.T) {
	s := newStage()
	link := path(s.Link(here))
	if a := s.ask("GET", enterPath+"?token=guessed", here, ""); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 {
		t.Errorf("a guessed token: %d, %v", a.StatusCode, a.Cookies())
	}
	if a := s.ask("GET", enterPath+"?token=", here, ""); a.StatusCode != http.StatusForbidden {
		t.Errorf("no token: %d", a.StatusCode)
	}
	if a := s.ask("HEAD", link, here, ""); len(a.Cookies()) > 0 {
		t.Error("looking at the link gave a session")
	}
	cookie := s.enter(t)
	if a := s.ask("GET", link, here, ""); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 || !strings.Contains(body(t, a), "start it again") {
		t.Errorf("the second time: %d, %v", a.StatusCode, a.Cookies())
	}
	if a := s.ask("GET", enterPath+"?token=", here, ""); a.StatusCode != http.StatusForbidden {
		t.Errorf("an empty token once it was used: %d", a.StatusCode)
	}
	if a := s.ask("GET", link, here, cookie); a.StatusCode != http.StatusOK {
		t.Errorf("whoever is in, with the link again: %d", a.StatusCode)
	}
	for _, p := range []string{"/", "/moves", "/bench", "/bench/show?f=bench/a.json", "/plan", "/proof", "/sources", "/runway", "/load", "/queries", "/findings", "/backups", "/reshape", "/report", "/live", "/api/overview", "/api/moves", "/api/bench", "/api/plan", "/api/proof", "/nowhere"} {
		for _, wrong := range []string{"", "stowage8306=", "stowage8306=x", strings.Replace(cookie, "8306", "8307", 1)} {
			if a := s.ask("GET", p, here, wrong); a.StatusCode != http.StatusUnauthorized || strings.Contains(body(t, a), "small") {
				t.Errorf("%s with %q: %d", p, wrong, a.StatusCode)
			}
		}
	}
	if one, other := newStage().Link(here), newStage().Link(here); one == s.Link(here) || one == other {
		t.Error("two starts have one link")
	}
}

func TestOnlyItsOwnName(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	for host, want := range map[string]int{
		here: 200, "localhost:8306": 200, "LOCALHOST": 200, "[::1]:8306": 200, "127.0.0.1": 200, "192.0.2.7:9000": 200, // a tunnel has a port of its own
		"evil.example:8306": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8306": 421, "127.0.0.1:8306@evil.example": 421, "x127.0.0.1": 421, "dash.internal": 421,
	} {
		if a := s.ask("GET", "/", host, cookie); a.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, a.StatusCode, want)
		}
		if a := s.ask("GET", assetsPath+"live.js", host, ""); a.StatusCode != want {
			t.Errorf("host %s, an asset: %d, want %d", host, a.StatusCode, want)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = ""
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("no host: %d", w.Code)
	}
	named := newStage()
	named.Server = New(Options{Listen: "dash.internal:8306", Sources: s.Sources, Log: s.Log})
	if a := named.ask("GET", "/", "Dash.Internal:8306", ""); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the name that was listened on: %d", a.StatusCode)
	}
}

func TestOnlyReads(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		for _, p := range []string{"/", "/api/moves", "/live", enterPath, assetsPath + "live.js"} {
			if a := s.ask(method, p, here, cookie); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, p, a.StatusCode, a.Header.Get("Allow"))
			}
		}
	}
	if a := s.ask("HEAD", "/moves", here, cookie); a.StatusCode != http.StatusOK {
		t.Errorf("HEAD: %d", a.StatusCode)
	}
}

// external is anything a page could load from elsewhere, or run in itself.
var external = regexp.MustCompile(`(?i)(?:src|href|action|url)\s*[=(]\s*["']?(?:https?:)?//|<script(?: type="module")?>| style=| on[a-z]+=`)

func TestPagesLoadNothingElse(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	for _, p := range []string{"/", "/moves", "/bench", "/bench/show?f=bench/a.json", "/plan", "/plan?name=first", "/proof"} {
		a := s.ask("GET", p, here, cookie)
		text := body(t, a)
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", p, a.StatusCode, a.Header.Get("Content-Type"))
		}
		if found := external.FindString(text); found != "" {
			t.Errorf("%s has %q", p, found)
		}
		says := a.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(says, "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'") || strings.Contains(says, "unsafe") {
			t.Errorf("%s: policy %q", p, says)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if a.Header.Get(name) != want {
				t.Errorf("%s: %s %q, want %q", p, name, a.Header.Get(name), want)
			}
		}
		if !strings.Contains(text, `aria-current="page"`) || !strings.Contains(text, `href="/api/`) {
			t.Errorf("%s does not say where it is, or has no JSON", p)
		}
	}
	shown := s.ask("GET", "/bench/show?f=bench/a.json", here, cookie)
	own := policy(".own { color: red }")
	if got := shown.Header.Get("Content-Security-Policy"); got != own || !strings.Contains(got, "style-src 'self' 'sha256-") || !strings.Contains(body(t, shown), "<style>.own { color: red }</style>") {
		t.Errorf("the style of a piece: %q, want %q", got, own)
	}
	whole := s.ask("GET", "/report", here, cookie)
	if got := whole.Header.Get("Content-Security-Policy"); got != "default-src 'none'; style-src 'sha256-x'; frame-ancestors 'none'" {
		t.Errorf("the report: policy %q, want its own", got)
	}
}

// TestFaultsAreLines has everything fail, and looks for a page that says so with the remedy.
func TestFaultsAreLines(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	s.fault = &farm.Error{Op: "read", Subject: "farm.yaml:3", Err: fmt.Errorf("%w: no such key <b>", farm.ErrInput), Hint: "did you mean hosts?"}
	for _, p := range []string{"/", "/moves", "/bench", "/plan", "/proof", "/report"} {
		a := s.ask("GET", p, here, cookie)
		text := body(t, a)
		if a.StatusCode != http.StatusOK || !strings.Contains(text, "farm.yaml:3") || !strings.Contains(text, "did you mean hosts?") || strings.Contains(text, "<b>,") || strings.Contains(text, "key <b>") {
			t.Errorf("%s: %d\n%s", p, a.StatusCode, text)
		}
		if n := strings.Count(text, "Cannot be read:"); n != 1 {
			t.Errorf("%s says it %d times", p, n)
		}
	}
	for _, p := range []string{"/api/moves", "/api/bench", "/api/plan", "/api/proof", "/api/overview"} {
		a := s.ask("GET", p, here, cookie)
		var said struct{ Error, Hint string }
		if err := json.NewDecoder(a.Body).Decode(&said); err != nil || a.StatusCode != http.StatusUnprocessableEntity || said.Hint != "did you mean hosts?" {
			t.Errorf("%s: %d %+v %v", p, a.StatusCode, said, err)
		}
	}
	s.mu.Lock()
	s.fault = nil
	s.mu.Unlock()
	for _, p := range []string{"/bench/show?f=../farm.yaml", "/bench/show?f=/etc/passwd", "/plan?name=../x", "/api/plan?name=none", "/nowhere", "/api/nowhere", "/bench/"} {
		if a := s.ask("GET", p, here, cookie); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", p, a.StatusCode)
		}
	}
	if text := body(t, s.ask("GET", "/bench", here, cookie)); !strings.Contains(text, "it is not JSON (measure again)") || !strings.Contains(text, "bench/show?f=bench%2fa.json") {
		t.Errorf("one broken file of two:\n%s", text)
	}
}

func TestNamesFromOutsideAreText(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	s := newStage()
	cookie := s.enter(t)
	s.set(func(m *Move) {
		m.Alarms, m.Said, m.Next, m.Unknown, m.WritePauses = []string{evil}, []string{evil}, []string{evil, "stowage " + evil}, evil, evil
		m.Waits = []Wait{{Part: evil, Step: evil, Command: "stowage " + evil}}
		m.Lanes = []Lane{{Name: evil, Step: evil, State: evil, Text: evil}, {Name: evil, IsDone: true, State: "done"}}
	})
	s.Dir = evil
	for _, p := range []string{"/", "/moves", "/moves?group=" + template.URLQueryEscaper(evil), "/plan?name=" + template.URLQueryEscaper(evil), "/bench/show?f=" + template.URLQueryEscaper(evil)} {
		if text := body(t, s.ask("GET", p, here, cookie)); strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") {
			t.Errorf("%s runs what a name says", p)
		}
	}
	if said := string(s.news(s.look(t.Context()), true, map[string]string{})); strings.Contains(said, "<script>alert") || strings.Contains(said, "<img src=x") {
		t.Errorf("the stream runs what a name says: %s", said)
	}
}

// TestStream opens a page's stream: it says what is, then what has changed, then nothing but that it is there, and ends with the server.
func TestStream(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	open := func(id string) (*bufio.Scanner, io.Closer) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+livePath, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Last-Event-ID", id)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if a.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%d %s", a.StatusCode, a.Header.Get("Content-Type"))
		}
		lines := bufio.NewScanner(a.Body)
		lines.Buffer(nil, 1<<20)
		return lines, a.Body
	}
	next := func(lines *bufio.Scanner, prefix string) string {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return rest
			}
		}
		t.Fatalf("the stream ended before a line with %q: %v", prefix, lines.Err())
		return ""
	}
	lines, _ := open("")
	id := next(lines, "id: ")
	if text := next(lines, "data: "); !strings.Contains(text, "move running: 0 of 2 done") || strings.Contains(text, "GATE CLOSED") {
		t.Errorf("first: %s", text)
	}
	s.set(func(m *Move) { m.Alarms = []string{"GATE CLOSED: clients of dbshard001 side A are waiting"} })
	if text := next(lines, "data: "); !strings.Contains(text, "GATE CLOSED") {
		t.Errorf("then: %s", text)
	}
	s.set(func(m *Move) { m.Alarms = nil })
	if again := next(lines, "id: "); again != id {
		t.Errorf("the same state is %s and %s", id, again)
	}
	known, close := open(id)
	if event := next(known, "event: "); event != "beat" {
		t.Errorf("a page that knows all is told %q", event)
	}
	_ = close.Close()

	began := time.Now()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v to end while a page was open", took)
	}
	for lines.Scan() {
	}
	if lines.Err() != nil {
		t.Errorf("the stream was torn: %v", lines.Err())
	}
}

// TestManyPagesOneRead: however many look, the workspace is read once in a while.
func TestManyPagesOneRead(t *testing.T) {
	s := newStage()
	s.live.every = time.Hour
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { s.look(t.Context()) })
	}
	all.Wait()
	if s.asked != 1 {
		t.Errorf("read %d times", s.asked)
	}
}

func TestLoopback(t *testing.T) {
	for ip, want := range map[string]bool{"127.0.0.1": true, "127.8.9.1": true, "::1": true, "0.0.0.0": false, "::": false, "10.0.0.1": false, "2001:db8::1": false} {
		if got := Loopback(&net.TCPAddr{IP: net.ParseIP(ip)}); got != want {
			t.Errorf("%s: %v", ip, got)
		}
	}
	if Loopback(&net.UnixAddr{Name: "/run/stowage"}) {
		t.Error("what is not an address of IP is not known to be private")
	}
}
