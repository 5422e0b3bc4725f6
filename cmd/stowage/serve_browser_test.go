package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/browsertest"
	"stowage/internal/turns"
)

// between stands before a server as a browser that has entered. It puts a picture into every page that is answered only when the stream has brought what is
// awaited, because a browser dumps a page when all of it is loaded.
type between struct {
	*httptest.Server
	connected, brought chan struct{}
	onConnect, onBring sync.Once
}

const heldPicture = "/held.svg"

func standBetween(t *testing.T, s *servedScene, awaited string) *between {
	t.Helper()
	target, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	b := &between{connected: make(chan struct{}), brought: make(chan struct{})}
	pass := &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), // a browser that has seen enough hangs up
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
			for _, c := range s.http.Jar.Cookies(target) {
				r.Out.AddCookie(c)
			}
		},
		ModifyResponse: func(a *http.Response) error {
			switch kind := a.Header.Get("Content-Type"); {
			case strings.HasPrefix(kind, "text/event-stream"):
				b.onConnect.Do(func() { close(b.connected) })
				a.Body = &listened{a.Body, func(text []byte) {
					if bytes.Contains(text, []byte(awaited)) {
						time.AfterFunc(300*time.Millisecond, func() { b.onBring.Do(func() { close(b.brought) }) }) // the page has it by then
					}
				}}
			case strings.HasPrefix(kind, "text/html"):
				raw, err := io.ReadAll(a.Body)
				if err != nil {
					return err
				}
				text := strings.Replace(string(raw), "</body>", `<img src="`+heldPicture+`" alt=""></body>`, 1)
				a.Body = io.NopCloser(strings.NewReader(text))
				a.Header.Del("Content-Length")
				a.ContentLength = -1
			}
			return nil
		},
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != heldPicture {
			pass.ServeHTTP(w, r)
			return
		}
		select {
		case <-b.brought:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`)
	}))
	t.Cleanup(b.Server.CloseClientConnections) // streams do not end by themselves
	return b
}

// listened tells of what is read.
type listened struct {
	io.ReadCloser
	tell func([]byte)
}

func (l *listened) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	l.tell(into[:n])
	return n, err
}

// TestServeInABrowser opens the pages that draw in Chromium: the console is silent, so that neither the policy nor a script complains, and what a move tells meanwhile
// arrives on the page.
func TestServeInABrowser(t *testing.T) {
	turns.Heavy(t, 1)
	t.Parallel() // it mostly waits
	dir := servedWorkspace(t)
	s := serveNow(t, dir)
	dom, console := browsertest.Open(t, s.link)
	for range 8 { // on a busy machine Chromium may dump nothing at all, and the link works once
		if dom == "" {
			s = serveNow(t, dir)
			dom, console = browsertest.Open(t, s.link)
		}
	}
	if console != "" || !strings.Contains(dom, "/assets/") {
		t.Fatalf("entering: %s\n%s", console, dom)
	}
	if status, _ := s.get(s.link); status != http.StatusForbidden {
		t.Errorf("the browser has entered, and the link still works: %d", status)
	}

	s = serveNow(t, dir)
	s.enter()
	for path, wants := range map[string][]string{
		"/bench/show?f=bench/old.json&f=bench/new.json": {`class="bplot"`}, "/plan": {`class="packing"`}, "/sources": {`class="source plain`, `id="topology-d"`}, "/queries": {`id="chart-trend-t"`}, "/load": {`id="chart-load-disk-t"`}, "/runway": {"Without one"}, "/proof": {"select * from orders", `<option value="0">`, `id="class-picture"`},
	} {
		dom, console := browsertest.Open(t, standBetween(t, s, "data:").URL+path)
		if console != "" {
			t.Errorf("%s: the console says:\n%s", path, console)
		}
		for _, want := range append(wants, ">live<") {
			if !strings.Contains(dom, want) {
				t.Errorf("%s does not have %q", path, want)
			}
		}
	}

	const news = "12 tables are left to warm"
	b := standBetween(t, s, news)
	x := openTeller(t, dir)
	go func() {
		<-b.connected
		x.tell(farm.Event{Pair: "dbshard002", Side: "B", Step: "warm", Kind: farm.StepStarted, Number: 12, Of: 14},
			farm.Event{Pair: "dbshard002", Side: "B", Step: "warm", Kind: farm.StepProgress, Text: news})
	}()
	dom, console = browsertest.Open(t, b.URL+"/moves")
	if console != "" {
		t.Errorf("/moves: the console says:\n%s", console)
	}
	for _, want := range []string{news, "FENCED: dbshard002/B takes no writes (step warm)", ">live<", ">copy<"} {
		if !strings.Contains(dom, want) {
			t.Errorf("/moves does not have %q after it was told", want)
		}
	}
	if !regexp.MustCompile(`aria-live="polite">[^<]*FENCED`).MatchString(dom) {
		t.Error("/moves does not speak of the fence")
	}
}

// drawnInABrowser opens a page: the console is silent, and each of these is drawn.
func drawnInABrowser(t *testing.T, url string, wants ...string) {
	t.Helper()
	dom, console := browsertest.Open(t, url)
	if console != "" {
		t.Errorf("the console says:\n%s", console)
	}
	for _, want := range wants {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
