package serve

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"stowage/report"
)

//go:embed page/*.html page/serve.css page/live.js page/icon.svg
var files embed.FS

// Options are what a server is made from.
type Options struct {
	Sources
	Listen string        // as it was asked for: HOST:PORT; the name in it may be in a Host header
	Dir    string        // of the workspace, to be shown
	Every  time.Duration // how often a page that is open learns of something new, at most; 0: a second
	Log    *slog.Logger

	// Scraper is what Prometheus sends as a bearer token to read /metrics; empty: only a browser that has entered may.
	Scraper string
}

// Server shows one workspace. It is safe for several goroutines.
type Server struct {
	Options
	door  *door
	live  live
	route *http.ServeMux
}

// The paths that are not pages.
const (
	enterPath   = "/enter"
	livePath    = "/live"
	metricsPath = "/metrics"
	assetsPath  = "/assets/"
)

// lastWords is how long what was asked before the end may take to be answered.
const lastWords = 500 * time.Millisecond

// New makes a server; Run serves.
func New(o Options) *Server {
	if o.Every == 0 {
		o.Every = time.Second
	}
	s := &Server{Options: o, door: newDoor(o.Listen), route: http.NewServeMux()}
	s.live.every = o.Every
	for _, p := range pages() {
		s.route.HandleFunc(p.path, func(w http.ResponseWriter, r *http.Request) { s.showPage(w, r, p) })
		if p.facts != nil {
			s.route.HandleFunc(p.api(), func(w http.ResponseWriter, r *http.Request) { s.showFacts(w, r, p) })
		}
	}
	s.route.HandleFunc("/report", s.showReport)
	s.route.HandleFunc(livePath, s.stream)
	s.route.HandleFunc(metricsPath, s.showMetrics)
	return s
}

// Link is where a person enters, once, at the address that is listened on.
func (s *Server) Link(address string) string { return s.door.link(address) }

// Run serves until ctx ends, and then for no longer than half a second. Being told to end is no error.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	open, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return open },
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	end() // streams go on for as long as they are let
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer stop()
	if err := h.Shutdown(last); err != nil {
		_ = h.Close() // whoever is still being answered has waited long enough
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP asks who is there, and by which name, before anything is shown.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy(""))
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	switch {
	case !s.door.mayBeCalled(r.Host):
		s.refuse(w, http.StatusMisdirectedRequest, "This name does not lead here.", "Use the address that stowage serve has printed, or localhost.")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		s.refuse(w, http.StatusMethodNotAllowed, "Nothing can be changed here.", "Pages show commands, to be run in a shell.")
	case r.URL.Path == enterPath:
		s.enter(w, r)
	case assets[r.URL.Path].text != nil:
		showAsset(w, r)
	case r.URL.Path == metricsPath && s.scrapes(r):
		s.showMetrics(w, r)
	case !s.door.knows(r):
		s.refuse(w, http.StatusUnauthorized, "Who is there?", "Open the link that stowage serve has printed. It works once, in one browser; another start prints another.")
	default:
		s.route.ServeHTTP(w, r)
	}
}

// enter takes the token, and leads on by a page rather than a redirection: a browser that came from somewhere else does not send a strict cookie along with one.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.door.knows(r):
	case r.Method == http.MethodHead: // somebody looks at the link and does not open it
		return
	case !s.door.enter(r.URL.Query().Get("token")):
		s.refuse(w, http.StatusForbidden, "This link was used, or is of another start.", "Stop stowage serve and start it again: it prints a new link.")
		return
	default:
		s.door.grant(w)
	}
	s.write(w, http.StatusOK, "enter.html", nil)
}

// asset is a part of the program that pages load.
type asset struct {
	kind string
	text func() []byte
}

var assets = map[string]asset{
	assetsPath + "report.css": {"text/css; charset=utf-8", report.Style},
	assetsPath + "report.js":  {"text/javascript; charset=utf-8", report.Script},
	assetsPath + "charts.js":  {"text/javascript; charset=utf-8", report.Library},
	assetsPath + "serve.css":  {"text/css; charset=utf-8", own("page/serve.css")},
	assetsPath + "icon.svg":   {"image/svg+xml", own("page/icon.svg")},
	assetsPath + "live.js":    {"text/javascript; charset=utf-8", own("page/live.js")},
}

func own(name string) func() []byte {
	return func() []byte {
		text, err := files.ReadFile(name)
		if err != nil {
			panic("serve: " + err.Error()) // it is embedded above
		}
		return text
	}
}

func showAsset(w http.ResponseWriter, r *http.Request) {
	a := assets[r.URL.Path]
	w.Header().Set("Content-Type", a.kind)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.text()) // whoever asked has gone
	}
}
