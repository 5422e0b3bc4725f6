package feed

import (
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// HandoverKind is the kind of documents in which handovers are kept, by the name of the shard.
const HandoverKind = "handover"

// Handover is how a shard went from one pair to another: who has read Left at
// the one goes on behind Entered at the other, and has everything once. It is
// noted when nobody serves the shard, before its clients are sent on; where the
// move was backed out right behind that, a later one follows from the same pair.
type Handover struct {
	Shard         farm.ShardName
	From, To      farm.PairName
	Left, Entered string // positions
	Noted         time.Time
}

// Positions are where it left the one and entered the other.
func (h Handover) Positions() (left, entered mysql.Position, err error) {
	if left, err = mysql.ParsePosition(h.Left); err != nil {
		return nil, nil, err
	}
	entered, err = mysql.ParsePosition(h.Entered)
	return left, entered, err
}

// After is the handover by which the shard left a pair where it was read up to
// at; nil: it is there, or on its way. all are those of one shard in the order
// they were noted, and serves is the pair that has it now.
func After(all []Handover, pair, serves farm.PairName, at mysql.Position) (*Handover, error) {
	for i, h := range all {
		followed := serves
		if i+1 < len(all) {
			followed = all[i+1].From
		}
		if h.From != pair || followed != h.To {
			continue
		}
		// Who has read beyond its return has seen it leave, come home, and maybe leave once more.
		again, err := cameHome(all[i+1:], pair, at)
		if err != nil {
			return nil, err
		}
		if !again {
			return &h, nil
		}
	}
	return nil, nil
}

// cameHome reports whether the shard entered a pair again, by one of these, at a
// position that was read already.
func cameHome(later []Handover, pair farm.PairName, at mysql.Position) (bool, error) {
	for _, h := range later {
		_, entered, err := h.Positions()
		if err != nil {
			return false, err
		}
		if h.To == pair && at.Reached(entered) {
			return true, nil
		}
	}
	return false, nil
}
