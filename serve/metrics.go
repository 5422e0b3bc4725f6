package serve

import (
	"bytes"
	"net/http"
)

// scrapes says whether Prometheus asks, by the token that it was given. There is no session for it, and no way from it to a page.
func (s *Server) scrapes(r *http.Request) bool {
	word, ok := bearer(r)
	return ok && s.Scraper != "" && same(word, s.Scraper)
}

// showMetrics answers in full or with an error: half of the series would look like the others gone.
func (s *Server) showMetrics(w http.ResponseWriter, r *http.Request) {
	var text bytes.Buffer
	if err := s.Metrics(&text); err != nil {
		s.Log.Warn("metrics", "error", err)
		http.Error(w, "metrics cannot be read: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if r.Method != http.MethodHead {
		_, _ = w.Write(text.Bytes()) // whoever asked has gone
	}
}
