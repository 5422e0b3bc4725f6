package capture

// Captures are put together from pieces, and addresses, numbers and times in
// them rewritten, so that they can be shown to others. Then the numbers of the
// segments contradict what they hold, and what they hold is believed.

// segmentHead is the beginning of a segment that was passed on.
type segmentHead struct {
	seq  uint32
	size uint8
	data [16]byte
}

func (h *segmentHead) remember(g *segment) {
	h.seq, h.size = g.seq, uint8(copy(h.data[:], g.data))
}

// contradicts says whether a segment holds other bytes than the last one had
// under the same numbers. A copy does not.
func (f *flow) contradicts(g *segment) bool {
	at := int(int32(g.seq - f.head.seq))
	if at < 0 || at >= int(f.head.size) {
		return false
	}
	known := f.head.data[at:f.head.size]
	n := min(len(known), len(g.data))
	return string(known[:n]) != string(g.data[:n])
}

// mayBegin says whether a segment is the beginning of what can only come next:
// a whole request where none is on its way, or an answer that is waited for.
func (s *session) mayBegin(dir int, g *segment) bool {
	d := g.data
	if s.flows[dir].packets.began || s.waiting > 0 || len(d) <= headSize || s.state != stateReady {
		return false
	}
	if dir == int(s.client) {
		return s.requests.n == 0 && !s.compress && beginsCommand(d, g.size(), headSize+2)
	}
	if s.requests.n == 0 || s.ans.first != 0 || d[2] != 0 || uint24(d) == 0 {
		return false
	}
	return d[3] == 1 || s.requests.first().cmd == Connect && d[3] > 1
}

// isRenumbered says whether the segments that wait are the rest of the request
// that has begun, to the byte, though by their numbers there is more missing
// between them than the request is long.
func (s *session) isRenumbered(f *flow, upTo uint32) bool {
	p := &f.packets
	if s.compress || !p.began || p.heads < headSize || int(upTo-f.next) <= p.left || len(f.early) == 0 || beginsCommand(f.early[0].data, f.early[0].size(), headSize+2) {
		return false
	}
	sum := 0
	for k := range f.early {
		sum += f.early[k].size()
	}
	return sum == p.left
}

// renumber makes the segments that wait follow each other.
func (t *tap) renumber(f *flow) {
	next := f.next
	for k := range f.early {
		f.early[k].seq = next
		next = f.early[k].end()
		t.note(renumbered, 1)
	}
}
