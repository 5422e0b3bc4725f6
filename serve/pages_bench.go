package serve

import (
	"fmt"
	"net/http"
	"slices"

	"stowage/farm"
	"stowage/report"
)

func (s *Server) fillBenches(_ *http.Request, p *page) error {
	var err error
	p.Benches, err = s.Benches()
	p.Command = s.BenchCommand
	return err
}

// BenchList is what is in bench/, as JSON.
type BenchList struct {
	FormatVersion int     `json:"format_version"`
	Results       []Bench `json:"results"` // newest first
}

func (s *Server) benchesFacts(*http.Request) (any, error) {
	all, err := s.Benches()
	return BenchList{1, all}, err
}

func (s *Server) fillBench(r *http.Request, p *page) error {
	shown, err := s.chosen(r)
	if err != nil {
		p.Title = "Bench"
		return err
	}
	p.show(shown)
	return nil
}

func (s *Server) benchFacts(r *http.Request) (any, error) {
	shown, err := s.chosen(r)
	return shown.JSON, err
}

// chosen are the results that were asked for. Only what the list has is read, whatever is asked.
func (s *Server) chosen(r *http.Request) (Shown, error) {
	all, err := s.Benches()
	if err != nil {
		return Shown{}, err
	}
	wanted := slices.Compact(r.URL.Query()["f"])
	refuse := func(err error, hint string) (Shown, error) {
		return Shown{}, &farm.Error{Op: "show results", Err: err, Hint: hint}
	}
	if len(wanted) == 0 {
		return refuse(fmt.Errorf("%w: none was chosen", farm.ErrInput), "choose results in the list of Bench")
	}
	if len(wanted) > report.MostBenches {
		return refuse(fmt.Errorf("%w: %s, at most %d can be distinguished", farm.ErrInput, farm.Counted(len(wanted), "result"), report.MostBenches), "choose fewer")
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(b Bench) bool { return b.File == name }) {
			return Shown{}, &farm.Error{Op: "show result", Subject: name, Err: errNone, Hint: "choose one in the list of Bench"}
		}
	}
	return s.Bench(wanted)
}
