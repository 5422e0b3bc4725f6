package main

import (
	"context"
	"time"

	"stowage/report"
	"stowage/serve"
	"stowage/session"
)

// known makes a page of what was kept. add reads the facts, and returns them as JSON, nil where nobody has looked yet; none says then how that is done.
func (s *shelf) known(none string, command []string, add func(*session.Session, *report.KnowFacts) (any, error), of func(report.KnowFacts) *report.KnowDocument) (serve.Shown, error) {
	d, err := s.desk()
	if err != nil {
		return serve.Shown{}, err
	}
	defer d.Close()
	facts := report.KnowFacts{Farm: d.Farm, Made: time.Now()}
	out := serve.Shown{Command: s.line(command...)}
	if out.JSON, err = add(d, &facts); err != nil {
		return out, err
	}
	if out.JSON == nil {
		out.Text = none
		return out, nil
	}
	out.Piece, err = of(facts).Piece()
	return out, err
}

func (s *shelf) sources() (serve.Shown, error) {
	return s.known("The sources of this farm have not been compared yet: stowage inventory check compares them, and keeps what it finds.", []string{"inventory graph"}, knownSources, report.NewSourcesDocument)
}

func (s *shelf) runway() (serve.Shown, error) {
	// Thousands of forecasts of as many series take seconds: they are made again when the store or farm.yaml has changed.
	// A Prometheus may take ten seconds, and tells more as time goes on: forPages.
	db := s.ws.StatePath("stowage.db")
	return s.runways.soon("how long disks, memory, CPU and IOPS last", func() (serve.Shown, error) {
		return s.known("", []string{"capacity"}, s.app.runwayIn(context.Background()), report.NewRunwayDocument)
	}, db, db+"-wal", s.ws.Path("farm.yaml"), s.ws.Path("inventory.yaml"))
}

// loadPages are the page on load, and what the pages of its groups are made of.
type loadPages struct {
	whole serve.Shown
	facts report.KnowFacts
}

func (s *shelf) load(group string) (serve.Shown, error) {
	// A hundred thousand shards take seconds.
	db := s.ws.StatePath("stowage.db")
	pages, err := s.loads.soon("what each shard needs", func() (p loadPages, err error) {
		p.whole, err = s.known("", []string{"inventory load"}, knownLoad, func(f report.KnowFacts) *report.KnowDocument {
			f.Page = "/load"
			p.facts = f
			return report.NewLoadDocument(f)
		})
		return p, err
	}, s.ws.Path("farm.yaml"), db, db+"-wal")
	if err != nil || group == "" {
		return pages.whole, err
	}
	pages.facts.Group = group
	pages.whole.Piece, err = report.NewLoadDocument(pages.facts).Piece()
	return pages.whole, err
}

func (s *shelf) queries() (serve.Shown, error) {
	return s.known("No digest is kept yet: stowage digest --save NAME LOG... keeps one, and so does stowage digest record --save NAME.", []string{"digest history"}, s.app.knownQueries, report.NewQueriesDocument)
}

func (s *shelf) findings() (serve.Shown, error) {
	return s.known("Nobody has looked yet: stowage inventory asks every server, stowage tune --all looks at every host, and both keep what they find.", []string{"inventory"}, knownFindings, report.NewFindingsDocument)
}
