package serve

import (
	"fmt"
	"net/http"
)

// groupOf is the group of pairs that a request asks for, all if it is empty.
func groupOf(r *http.Request) string { return r.URL.Query().Get("group") }

// fillMoves shows the pairs, and what the newest run did step by step. One that cannot be read does not keep the other away.
func (s *Server) fillMoves(r *http.Request, p *page) error {
	p.Command, p.Group = p.Move.Command, groupOf(r)
	board, err := s.Topology(p.Move, p.Group)
	p.take(err)
	p.Topology = board
	piece, err := s.History()
	p.Piece = piece
	p.Piece.Style += board.Style
	return err
}

// topologyParts begin the names of the parts of a page that shows pairs.
const topologyParts = "pairs-"

// topologyPart is the name of the part of a page that is one block of pairs.
func topologyPart(n int) string { return fmt.Sprintf("%s%d", topologyParts, n) }

// addTopology adds the pairs of a group to the parts of a state, for a page that shows them.
func (s *Server) addTopology(now *state, group string) {
	board, err := s.Topology(now.move, group)
	if err != nil {
		return // the page has said so, or says so when it is loaded again
	}
	parts := map[string]string{topologyParts + "head": string(board.Head)}
	for n, block := range board.Blocks {
		parts[topologyPart(n)] = string(block)
	}
	now.extra, now.pairs = parts, board.Key
	now.id += partsID(parts) + board.Key
}
