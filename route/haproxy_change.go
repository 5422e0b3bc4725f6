package route

import "stowage/farm"

// haChange is a change of one pair, as backends show it.
type haChange struct {
	pair      farm.PairName
	next      *Pair
	was, will []backend // of the same homes, in the same order
}

func newHAChange(pair farm.PairName, old, next *Pair) (haChange, error) {
	c := haChange{pair: pair, next: next}
	var err error
	if c.was, err = wanted(pair, old); err != nil {
		return c, err
	}
	c.will, err = wanted(pair, next)
	return c, err
}

// sameServers reports whether nobody is sent to another server.
func (c haChange) sameServers() bool {
	if len(c.was) != len(c.will) {
		return false
	}
	for i, w := range c.was {
		if n := c.will[i]; w.name != n.name || w.serves != n.serves || w.servers[w.serves] != n.servers[n.serves] {
			return false
		}
	}
	return true
}

// onlyOpens reports whether all that changes is that gates open where they
// were.
func (c haChange) onlyOpens() bool {
	opens := false
	for i, w := range c.was {
		if !c.sameServers() || c.will[i].gate == Closed && w.gate == Open {
			return false
		}
		opens = opens || c.will[i].gate == Open && w.gate == Closed
	}
	return opens
}

// begun reports whether a client can have been sent to another server by the
// change: some process shows a backend wholly as it would be, open, with
// another server than it had.
func begun(all []shown, c haChange) bool {
	old := map[string]backend{}
	for _, b := range c.was {
		old[b.name] = b
	}
	for _, s := range all {
		for _, b := range c.will {
			w := old[b.name]
			moved := w.serves != b.serves || w.servers[w.serves] != b.servers[b.serves]
			if moved && b.gate == Open && s.differs(b) == "" {
				return true
			}
		}
	}
	return false
}
