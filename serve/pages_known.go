package serve

import (
	"net/http"

	"stowage/farm"
)

// The pages on what is known of the farm.
func known(s *Server) (Shown, error)    { return s.Known() }
func runway(s *Server) (Shown, error)   { return s.Runway() }
func load(s *Server) (Shown, error)     { return s.Load() }
func queries(s *Server) (Shown, error)  { return s.Queries() }
func findings(s *Server) (Shown, error) { return s.Findings() }
func reshape(s *Server) (Shown, error)  { return s.Reshape() }
func backups(s *Server) (Shown, error)  { return s.Backups() }

func fillKnown(of func(*Server) (Shown, error)) func(*Server, *http.Request, *page) error {
	return func(s *Server, _ *http.Request, p *page) error {
		shown, err := of(s)
		if err != nil {
			return err
		}
		p.show(shown)
		return nil
	}
}

func knownFacts(of func(*Server) (Shown, error)) func(*Server, *http.Request) (any, error) {
	return func(s *Server, _ *http.Request) (any, error) {
		shown, err := of(s)
		if err == nil && shown.JSON == nil {
			err = &farm.Error{Op: "show page", Err: errNone, Hint: shown.Text}
		}
		return shown.JSON, err
	}
}
