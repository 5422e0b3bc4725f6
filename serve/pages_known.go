package serve

import (
	"net/http"

	"stowage/farm"
)

// The pages on what is known of the farm.
func known(s *Server, _ *http.Request) (Shown, error)    { return s.Known() }
func runway(s *Server, _ *http.Request) (Shown, error)   { return s.Runway() }
func load(s *Server, r *http.Request) (Shown, error)     { return s.Load(groupOf(r)) }
func queries(s *Server, _ *http.Request) (Shown, error)  { return s.Queries() }
func findings(s *Server, _ *http.Request) (Shown, error) { return s.Findings() }
func reshape(s *Server, _ *http.Request) (Shown, error)  { return s.Reshape() }
func backups(s *Server, _ *http.Request) (Shown, error)  { return s.Backups() }

// shownBy reads what one of these pages shows.
type shownBy = func(*Server, *http.Request) (Shown, error)

func fillKnown(of shownBy) func(*Server, *http.Request, *page) error {
	return func(s *Server, r *http.Request, p *page) error {
		shown, err := of(s, r)
		if err != nil {
			return err
		}
		p.show(shown)
		return nil
	}
}

// fillLoad is the page on load, of the farm or of one of its groups.
func (s *Server) fillLoad(r *http.Request, p *page) error {
	p.Group = groupOf(r)
	return fillKnown(load)(s, r, p)
}

func knownFacts(of shownBy) func(*Server, *http.Request) (any, error) {
	return func(s *Server, r *http.Request) (any, error) {
		shown, err := of(s, r)
		if err == nil && shown.JSON == nil {
			err = &farm.Error{Op: "show page", Err: errNone, Hint: shown.Text}
		}
		return shown.JSON, err
	}
}
