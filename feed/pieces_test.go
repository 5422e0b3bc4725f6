package feed

import (
	"testing"

	"stowage/mysql"
)

// A transaction of few rows that are large is handed out as soon as PieceBytes are held: 20,000 rows of a megabyte would be 20 GB.
func TestPiecesOfBytes(t *testing.T) {
	t.Parallel()
	r := &Reader{source: Source{Schema: "shop"}, at: mysql.Position{}}
	take := func(c mysql.Change) (Piece, bool) {
		p, ok, err := r.take(c)
		must(t, err)
		return p, ok
	}
	take(mysql.Change{Kind: mysql.Begin, Trx: mysql.Trx{N: 1}})
	pieces, rows := 0, 0
	for range 40 {
		if p, ok := take(mysql.Change{Kind: mysql.Insert, Schema: "shop", Table: "r", Rows: [][]any{{1}}, Bytes: 1 << 20}); ok {
			if p.First != (pieces == 0) || p.Last {
				t.Errorf("piece %d: first %v, last %v", pieces, p.First, p.Last)
			}
			pieces++
			rows += len(p.Changes)
		}
	}
	p, ok := take(mysql.Change{Kind: mysql.Commit})
	if rows += len(p.Changes); !ok || !p.Last || p.First || pieces != 2 || rows != 40 {
		t.Errorf("%d pieces before the last one, %d rows; want 2 and 40", pieces, rows)
	}
}
