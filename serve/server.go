package serve

import (
	"context"
	"crypto/tls"
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
	// Viewers are those who may look with a token of their own, as they are at that moment: it is asked with each request. nil: there is no file of tokens.
	Viewers func() []Viewer
	// Certificate is what is shown to whoever connects, as it is at that moment, with its Leaf. nil: this is plain HTTP.
	Certificate func() *tls.Certificate
	// OpenAPI is the document that describes what is answered under /api.
	OpenAPI []byte
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
	apiPath     = "/api/"
	openAPIPath = apiPath + "openapi.json"
)

// lastWords is how long what was asked before the end may take to be answered.
const lastWords = 500 * time.Millisecond

// New makes a server; Run serves.
func New(o Options) *Server {
	if o.Every == 0 {
		o.Every = time.Second
	}
	s := &Server{Options: o, door: newDoor(o), route: http.NewServeMux()}
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
	s.route.HandleFunc(openAPIPath, s.showOpenAPI)
	s.route.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "There is no such page.", "Go to the overview, which is at /.")
	})
	return s
}

// Link is where a person enters, once, at HOST:PORT.
func (s *Server) Link(address string) string { return s.door.link(address) }

// SignIn is where a person enters with a token, at HOST:PORT.
func (s *Server) SignIn(address string) string { return s.door.scheme() + address + enterPath }

// Run serves until ctx ends, and then for no longer than half a second. Being told to end is no error.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	open, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return open },
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	serve := func() error { return h.Serve(l) }
	if s.Certificate != nil {
		h.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate(), nil }}
		serve = func() error { return h.ServeTLS(l, "", "") } // HTTP/2, too
	}
	served := make(chan error, 1)
	go func() { served <- serve() }()
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
		s.refuse(w, r, http.StatusMisdirectedRequest, "This name does not lead here.", "Use the address that stowage serve has printed, or localhost.")
	case s.Viewers != nil && r.URL.Path == enterPath && r.Method == http.MethodPost:
		s.signIn(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", s.allowed(r.URL.Path))
		s.refuse(w, r, http.StatusMethodNotAllowed, "Nothing can be changed here.", "Pages show commands, to be run in a shell.")
	case r.URL.Path == enterPath:
		s.enter(w, r)
	case assets[r.URL.Path].text != nil:
		showAsset(w, r)
	case r.URL.Path == metricsPath && s.scrapes(r):
		s.showMetrics(w, r)
	default:
		if name, known := s.letIn(w, r); known {
			s.Log.Debug("looks", "viewer", name, "page", r.URL.Path)
			s.route.ServeHTTP(w, r)
		}
	}
}

// allowed are the methods of a path.
func (s *Server) allowed(path string) string {
	if path == enterPath && s.Viewers != nil {
		return "GET, HEAD, POST"
	}
	return "GET, HEAD"
}

func (s *Server) showOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.OpenAPI) // whoever asked has gone
}

// asset is a part of the program that pages load.
type asset struct {
	kind string
	text func() []byte
}

var assets = map[string]asset{
	assetsPath + "report.css": {"text/css; charset=utf-8", report.Style},
	assetsPath + "report.js":  {"text/javascript; charset=utf-8", report.Script},
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
