package serve

import (
	"cmp"
	"fmt"
	"net/http"

	"stowage/farm"
)

func (s *Server) fillRolls(_ *http.Request, p *page) error {
	p.Command = p.Roll.Command
	if p.Text = p.Roll.Text; p.Text != "" {
		return nil
	}
	var err error
	p.Piece, err = s.Rolled()
	p.Title = cmp.Or(p.Piece.Title, p.Title)
	return err
}

func (s *Server) rollFacts(r *http.Request) (any, error) {
	now := s.look(r.Context())
	if now.rollErr == nil && now.roll.JSON == nil {
		return nil, &farm.Error{Op: "show roll", Err: errNone, Hint: now.roll.Text}
	}
	return now.roll.JSON, now.rollErr
}

// rackPart is the name of the part of a page that is one rack.
func rackPart(n int) string { return fmt.Sprintf("rack-%d", n) }
