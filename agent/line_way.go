package agent

import "time"

// lineWay decides whether blocks are compressed. A line of 1 Gbit/s is slower
// than zstd and gains by it. Between disks on one fast network, or before a
// receiver whose disks are what is slow, compressing gains nothing and costs
// processors that databases need.
//
// What a block takes cannot be compared with what its neighbour takes: all that
// is in the buffers between both ends goes before it, and a compressed block
// finds room sooner though nothing arrives sooner. So a way is judged by a
// stretch that begins when the buffers hold nothing of the other way, and only
// the time of compressing and sending counts, not that of waiting for the
// backup or for a throttle.
type lineWay struct {
	now byte

	settle, stretch int64 // bytes on the line until a way shows, and plain ones that are measured then
	wire, plain     int64 // since this way began; in the stretch
	busy            time.Duration
	kept            float64 // seconds a plain byte of the way that is kept
	trial           bool    // now is compared with the kept one
	rest, left      int64   // on the line, between two trials
}

const (
	// A receiver's window and both sockets' buffers hold up to 14 MB.
	lineSettle  = 16 << 20
	lineStretch = 16 << 20
	// One that is lost makes the next one rarer.
	firstRest, longestRest = 512 << 20, 4 << 30
	// zstdWorth is how much quicker compressed blocks must be.
	zstdWorth = 1.15
	// A block that stays larger than that is not worth a trial.
	zstdLeast = 0.9
)

func newLineWay() *lineWay {
	return &lineWay{now: blockRaw, settle: lineSettle, stretch: lineStretch, rest: firstRest}
}

// sent is told what went over the line, and how long that took.
func (w *lineWay) sent(plain, wire int, took time.Duration) {
	w.wire += int64(wire)
	w.left -= int64(wire)
	if w.wire <= w.settle {
		return
	}
	w.plain += int64(plain)
	w.busy += took
	if w.plain < w.stretch {
		return
	}
	cost := w.busy.Seconds() / float64(w.plain)
	if w.now == blockZstd {
		cost *= zstdWorth
	}
	w.wire, w.plain, w.busy = w.settle, 0, 0
	switch {
	case w.trial && cost >= w.kept:
		w.back()
	case w.trial: // it is kept; the next trial is of the other
		w.trial, w.kept, w.rest, w.left = false, cost, firstRest, firstRest
	default:
		w.kept = cost
		if w.left <= 0 {
			w.trial = true
			w.turn()
		}
	}
}

// encoded is told what compressing a block came to. The first of a trial can
// show that it is hopeless.
func (w *lineWay) encoded(plain, out int, took time.Duration) {
	if !w.trial || w.wire > 0 {
		return
	}
	if float64(out) > zstdLeast*float64(plain) || took.Seconds()/float64(plain)*zstdWorth >= w.kept {
		w.back()
	}
}

// back returns to the way that is kept.
func (w *lineWay) back() {
	w.trial, w.left = false, w.rest
	w.rest = min(2*w.rest, longestRest)
	w.turn()
}

func (w *lineWay) turn() {
	w.now = blockZstd + blockRaw - w.now
	w.wire, w.plain, w.busy = 0, 0, 0
}
