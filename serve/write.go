package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"stowage/internal/lazy"
	"stowage/report"
)

// templates are all pages and their parts.
var templates = sync.OnceValue(func() *template.Template {
	all := template.New("serve").Funcs(template.FuncMap{"stamp": stamp, "clock": clock, "made": made, "tiles": moveTiles, "rackPart": rackPart, "topologyPart": topologyPart, "stripOf": report.StripColumns, "isCommand": func(text string) bool { return strings.HasPrefix(text, "stowage ") }})
	return template.Must(template.Must(all.Parse(report.Strip())).ParseFS(files, "page/*.html"))
})

// stamp is a moment for people, in UTC as everything that several places look at.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// made is the moment that a plan names in RFC 3339.
func made(text string) string {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return stamp(t)
	}
	return text
}

// clock is a moment of today.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("15:04:05")
}

// policy is what a page may load: what is served here, and its one style by its hash. Data blocks are no scripts.
func policy(style string) string {
	p := "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
	if style != "" {
		sum := sha256.Sum256([]byte(style))
		p += "; style-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return p
}

// write writes a page. A page that cannot be written is a bug of ours, and is said so without its innards.
func (s *Server) write(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		s.Log.Error("write page", "page", name, "error", err)
		http.Error(w, "This page cannot be written; the terminal in which stowage serve runs says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever asked has gone
}

// refuse says in a page of its own, or to a script, why nothing is shown.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, text, hint string) {
	if isAPI(r) {
		writeFacts(w, status, noFacts{text, hint})
		return
	}
	s.write(w, status, "refused.html", fault{text, hint})
}

// ownPolicy is the policy that a whole document brings along.
var ownPolicy = lazy.Regexp(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)

// showReport sends the file that stowage report writes, under the policy that it has as a file.
func (s *Server) showReport(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	err := s.Report(&b)
	var said [][]byte
	if err == nil {
		if said = ownPolicy().FindSubmatch(b.Bytes()); said == nil {
			err = errors.New("the report says nothing of what it may load")
		}
	}
	if err != nil {
		p := s.newPage(r, pageOf{name: "Report"})
		p.take(err)
		s.write(w, http.StatusOK, "shown.html", p)
		return
	}
	w.Header().Set("Content-Security-Policy", html.UnescapeString(string(said[1]))+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.URL.Query().Has("file") {
		w.Header().Set("Content-Disposition", `attachment; filename="report.html"`)
	}
	_, _ = w.Write(b.Bytes()) // whoever asked has gone
}
