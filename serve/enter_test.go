package serve

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	tokenOfAnn = "ann-0123456789abcdef0123456789"
	tokenOfBob = "bob-0123456789abcdef0123456789"
)

// team is a stage with a list of tokens that a test changes.
type team struct {
	*stage
	list []Viewer
	log  bytes.Buffer
}

func newTeam() *team {
	x := &team{stage: newStage(), list: []Viewer{{"ann", tokenOfAnn}, {"bob", tokenOfBob}}}
	o := x.Options
	o.Viewers = func() []Viewer { return x.list }
	o.Log = slog.New(slog.NewTextHandler(&x.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	x.Server = New(o)
	return x
}

// send sends the form with a token; change makes it another request.
func (x *team) send(token string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest("POST", "http://"+here+enterPath, strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "http://"+here)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	return w.Result()
}

// signIn gives the cookie of a viewer.
func (x *team) signIn(t *testing.T, token string) string {
	t.Helper()
	a := x.send(token, nil)
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/" || len(a.Cookies()) != 1 {
		t.Fatalf("signing in: %d, to %q, cookies %v", a.StatusCode, a.Header.Get("Location"), a.Cookies())
	}
	c := a.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || strings.Contains(c.Value, token) || len(c.Value) < 40 {
		t.Errorf("cookie %+v", c)
	}
	return c.Name + "=" + c.Value
}

// script asks as a script does, with a bearer token.
func (x *team) script(path, token string) *http.Response {
	r := httptest.NewRequest("GET", "http://"+here+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	return w.Result()
}

// TestViewersSignIn: a viewer gets in by the form, a script by its header, both until the token is gone from the list.
func TestViewersSignIn(t *testing.T) {
	x := newTeam()
	for _, path := range []string{"/", "/moves", enterPath} {
		a := x.ask("GET", path, here, "")
		if text := body(t, a); !strings.Contains(text, `<form class="sign-in" method="post" action="/enter">`) || strings.Contains(text, "small") || a.Header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s to somebody who is not in: %d\n%s", path, a.StatusCode, text)
		}
	}
	for _, wrong := range []string{"", "guessed", tokenOfAnn[1:], tokenOfAnn + "0"} {
		if a := x.send(wrong, nil); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 || !strings.Contains(body(t, a), "No viewer has this token.") {
			t.Errorf("token %q: %d, %v", wrong, a.StatusCode, a.Cookies())
		}
	}
	ann, bob := x.signIn(t, tokenOfAnn), x.signIn(t, " "+tokenOfBob+"\n") // pasted
	if ann == bob {
		t.Error("two viewers have one session")
	}
	for _, cookie := range []string{ann, bob, x.enter(t)} {
		if a := x.ask("GET", "/moves", here, cookie); a.StatusCode != http.StatusOK {
			t.Errorf("/moves with a session: %d", a.StatusCode)
		}
	}
	for path, want := range map[string]int{"/api/overview": 200, "/api/openapi.json": 200, "/api/nowhere": 404, "/": 401, "/moves": 401, "/live": 401, "/report": 401, "/metrics": 401} {
		if a := x.script(path, tokenOfAnn); a.StatusCode != want {
			t.Errorf("a script at %s: %d, want %d", path, a.StatusCode, want)
		}
	}
	if a := x.script("/api/overview", "guessed"); a.StatusCode != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(body(t, a), `"error": "no viewer has this token"`) {
		t.Errorf("a script with a wrong token: %d %v", a.StatusCode, a.Header)
	}

	x.list = []Viewer{{"bob", tokenOfBob}}
	for what, a := range map[string]*http.Response{"her session": x.ask("GET", "/moves", here, ann), "her script": x.script("/api/overview", tokenOfAnn)} {
		if a.StatusCode != http.StatusUnauthorized {
			t.Errorf("ann's token was removed, and %s goes on: %d", what, a.StatusCode)
		}
	}
	if a := x.send(tokenOfAnn, nil); a.StatusCode != http.StatusForbidden {
		t.Errorf("a token that was removed: %d", a.StatusCode)
	}
	if a := x.ask("GET", "/moves", here, bob); a.StatusCode != http.StatusOK {
		t.Errorf("bob, whose token stays: %d", a.StatusCode)
	}
	x.list = append(x.list, Viewer{"eve", "eve-0123456789abcdef0123456789"})
	if a := x.script("/api/overview", "eve-0123456789abcdef0123456789"); a.StatusCode != http.StatusOK {
		t.Errorf("a token that was added: %d", a.StatusCode)
	}
}

// TestARemovedTokenEndsAStream: an open page gets no further events.
func TestARemovedTokenEndsAStream(t *testing.T) {
	x := newTeam()
	r := httptest.NewRequest("GET", "http://"+here+livePath, nil)
	r.Header.Set("Cookie", x.signIn(t, tokenOfAnn))
	asked := 0
	x.door.viewers = func() []Viewer {
		if asked++; asked > 3 {
			return nil
		}
		return x.list
	}
	x.ServeHTTP(httptest.NewRecorder(), r) // returns, or the test hangs
	if asked != 4 {
		t.Errorf("asked %d times", asked)
	}
}

// TestTheFormIsOurs: a page of somebody else can send nothing, and without a file of tokens nobody can.
func TestTheFormIsOurs(t *testing.T) {
	x := newTeam()
	for what, change := range map[string]func(*http.Request){
		"another site":                   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port of this machine":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another origin, an old browser": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://evil.example") },
		"no origin to be told":           func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "null") },
	} {
		if a := x.send(tokenOfAnn, change); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 {
			t.Errorf("%s: %d, %v", what, a.StatusCode, a.Cookies())
		}
	}
	for what, change := range map[string]func(*http.Request){
		"an old browser": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") },
		"curl":           func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Del("Origin") },
	} {
		if a := x.send(tokenOfAnn, change); a.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d", what, a.StatusCode)
		}
	}
	if a := x.send(tokenOfAnn, func(r *http.Request) { r.Host = "evil.example:8306" }); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %d", a.StatusCode)
	}
	if a := x.send(strings.Repeat("x", 2*longestForm), nil); a.StatusCode != http.StatusRequestEntityTooLarge || len(a.Cookies()) > 0 {
		t.Errorf("a form without end: %d", a.StatusCode)
	}
	if a := x.send("", func(r *http.Request) { r.URL.RawQuery = "token=" + tokenOfAnn }); a.StatusCode != http.StatusForbidden {
		t.Errorf("a token in an address, where logs and histories keep it: %d", a.StatusCode)
	}
	for _, path := range []string{"/", "/moves", "/api/moves", "/live"} {
		if a := x.ask("POST", path, here, x.signIn(t, tokenOfBob)); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d", path, a.StatusCode)
		}
	}
	if a := newStage().ask("POST", enterPath, here, ""); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("without a file of tokens: %d", a.StatusCode)
	}
}

// TestGuessing: an address that sends one wrong token after the other is not listened to for a while, not even with a right one; others are.
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTeam()
		from := func(address string) func(*http.Request) {
			return func(r *http.Request) { r.RemoteAddr = address }
		}
		for range 3 * mostMisses { // a script that does not know that its token was removed is no guesser
			x.send("the same wrong one", from("192.0.2.1:1000"))
		}
		for n := range mostMisses - 2 {
			x.send(fmt.Sprint("guess ", n), from(fmt.Sprint("192.0.2.1:", 2000+n)))
		}
		if a := x.send(tokenOfAnn, from("192.0.2.1:1")); a.StatusCode != http.StatusSeeOther {
			t.Errorf("after %d wrong ones: %d", mostMisses-1, a.StatusCode)
		}
		r := httptest.NewRequest("GET", "http://"+here+"/api/moves", nil)
		r.Header.Set("Authorization", "Bearer guess")
		r.RemoteAddr = "192.0.2.1:9"
		x.ServeHTTP(httptest.NewRecorder(), r) // a guess as any other
		time.Sleep(missesLast / 3)
		a := x.send(tokenOfAnn, from("192.0.2.1:1"))
		if text := body(t, a); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "40" || len(a.Cookies()) > 0 || !strings.Contains(text, "Try again in 40 s.") {
			t.Errorf("after %d wrong ones: %d, Retry-After %q\n%s", mostMisses, a.StatusCode, a.Header.Get("Retry-After"), text)
		}
		w := httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer "+tokenOfAnn)
		if x.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests {
			t.Errorf("a script from there: %d", w.Code)
		}
		for _, other := range []string{"192.0.2.2:1", "[2001:db8::1]:1"} {
			if a := x.send(tokenOfAnn, from(other)); a.StatusCode != http.StatusSeeOther {
				t.Errorf("from %s: %d", other, a.StatusCode)
			}
		}
		time.Sleep(missesLast)
		if a := x.send(tokenOfAnn, from("192.0.2.1:1")); a.StatusCode != http.StatusSeeOther {
			t.Errorf("a minute later: %d", a.StatusCode)
		}
		for n := range mostMisses { // a network of IPv6 is one place
			x.send(fmt.Sprint("guess ", n), from(fmt.Sprintf("[2001:db8::%d]:1", n+1)))
		}
		if a := x.send(tokenOfAnn, from("[2001:db8::ffff]:1")); a.StatusCode != http.StatusTooManyRequests {
			t.Errorf("from the same network: %d", a.StatusCode)
		}
	})
}

// TestMissesAreForgotten: somebody with many addresses fills no memory, and keeps out who comes from a new one for a minute at most.
func TestMissesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m misses
		for n := range 2 * mostAddresses {
			m.note(fmt.Sprintf("10.%d.%d.%d:1", n>>16, n>>8&255, n&255), "x")
		}
		if len(m.of) > mostAddresses+1 {
			t.Errorf("%d addresses are kept", len(m.of))
		}
		time.Sleep(missesLast)
		m.note("192.0.2.1:1", "x")
		if len(m.of) != 1 {
			t.Errorf("a minute later %d addresses are kept", len(m.of))
		}
	})
}

// TestWhoLooksIsLogged: names and pages, no fact and no token.
func TestWhoLooksIsLogged(t *testing.T) {
	x := newTeam()
	ann, link := x.signIn(t, tokenOfAnn), x.enter(t)
	x.ask("GET", "/plan?name=secret", here, ann)
	x.ask("GET", "/moves", here, link)
	x.script("/api/bench", tokenOfBob)
	x.send("guessed-guessed-guessed-guessed", nil)
	x.send("guessed-guessed-guessed-guessed", nil)
	said := x.log.String()
	for _, want := range []string{`level=INFO msg="signed in" viewer=ann from=192.0.2.1`, "level=DEBUG msg=looks viewer=ann page=/plan\n", `level=DEBUG msg=looks viewer="the printed link" page=/moves`, "viewer=bob page=/api/bench", `level=WARN msg="a wrong token" from=192.0.2.1`} {
		if !strings.Contains(said, want) {
			t.Errorf("the log does not have %q\n%s", want, said)
		}
	}
	if strings.Count(said, "a wrong token") != 1 {
		t.Errorf("the same wrong token is told twice\n%s", said)
	}
	for _, secret := range []string{tokenOfAnn, tokenOfBob, "guessed-", "secret", strings.Split(ann, "=")[1]} {
		if strings.Contains(said, secret) {
			t.Errorf("the log has %q\n%s", secret, said)
		}
	}
}
