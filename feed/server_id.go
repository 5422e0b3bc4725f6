package feed

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"stowage/mysql"
)

// firstReader begins the server ids that readers draw from. next_server_id of
// farm.yaml is not raised for them: every plan would have to be made again.
const firstReader = 4_000_000_000

// FreeServerID is a server id that nobody uses on these servers, of which one
// has to answer: two readers with one id would throw each other out, again and
// again.
func FreeServerID(ctx context.Context, servers ...*mysql.Server) (uint32, error) {
	used, answered := map[uint32]bool{}, false
	var last error
	for _, s := range servers {
		known, e1 := s.ServerIDsInBinlog(ctx)
		readers, _, e2 := s.Readers(ctx)
		if err := errors.Join(e1, e2); err != nil {
			last = err
			continue
		}
		answered = true
		for _, id := range known {
			used[id] = true
		}
		for _, r := range readers {
			used[r.ServerID] = true
		}
	}
	for answered {
		if id := firstReader + rand.Uint32N(math.MaxUint32-firstReader); !used[id] {
			return id, nil
		}
	}
	return 0, last
}
