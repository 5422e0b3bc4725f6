package engine

import (
	"context"
	"errors"

	"stowage/bench/engine/sheet"
)

// Session is one server of its own with rows in it, which is run again and again; its
// options may differ from run to run. It is to be closed.
type Session struct {
	b     *bencher
	point point
	runs  int
}

// Open takes a directory and loads the rows that the order's first load needs on its first
// cell. Errors are those of Run.
func Open(ctx context.Context, dir string, o Order) (*Session, error) {
	o.Mode, o.Cells, o.Loads, o.Ratios, o.Previous, o.Save = sheet.Engines, o.Cells[:1], o.Loads[:1], o.Ratios[:1], nil, nil
	o.alone = true // its runs are taken by turns, and tell of drift themselves
	b, err := occupy(dir, o)
	if err != nil {
		return nil, err
	}
	if err := b.load(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return &Session{b: b, point: b.points[0]}, nil
}

// Run starts the server with further lines in its option file, which count before its
// own, measures the load once, and stops the server.
func (s *Session) Run(ctx context.Context, options []string) (sheet.Sample, error) {
	s.runs++
	s.b.stores[s.point.stores[0]].also = options
	sample, _, err := s.b.runCell(ctx, s.point, s.b.order.Seed+uint64(1000*s.runs))
	return sample, err
}

// Close kills the server and removes everything.
func (s *Session) Close() error { return s.b.close() }
