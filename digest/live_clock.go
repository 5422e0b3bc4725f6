package digest

import "bytes"

// wallClock puts right the times of log tables in the CSV engine. Such a table holds the time of day as text, written by
// the time_zone of the session that ran the statement and read by that of whoever reads it: a session with a zone of its
// own stands hours apart from its neighbours, and nothing in the row says so (measured on MariaDB 10.11.19; tables in
// MyISAM or Aria hold the instant and have no such rows). A session that has set its timestamp looks the same.
//
// Rows stand in the order in which statements ended, so time jumps where such a row begins, and jumps back behind it. What
// lies between two jumps is an excursion: a row in it is moved by whole quarters of an hour to where the rows around it
// are, or gets their time where that does not fit. An excursion that does not come back is believed: nothing was logged
// for a while, or the clock of the server was changed.
type wallClock struct {
	emit func(*event)
	note func(reason string)

	now  int64 // of the server, microseconds: no statement ended later
	last int64 // the greatest end so far, microseconds; 0: none
	held []event
	size int // bytes of text in held
}

const (
	clockSlack    = 10 * 60 * 1e6 // ends differ less than this from those around them
	quarterHour   = 15 * 60 * 1e6
	widestZones   = 26 * 3600 * 1e6
	excursionRows = 1000
	excursionSize = 4 << 20

	noteOtherZone = "time apart from the rows around it (its session had its own time_zone): moved by whole quarters of an hour"
	noteOwnTime   = "time apart from the rows around it (its session had set its timestamp): taken from them"
)

func (w *wallClock) take(e *event) {
	end := e.at + int64(e.queryTime.saturated()/1000)
	switch jump := end - w.last; {
	case w.last == 0 || jump >= -clockSlack && jump <= clockSlack:
		w.home()
		w.last = max(w.last, end)
		w.emit(e)
	default:
		held := *e
		held.text, held.fingerprint = bytes.Clone(e.text), bytes.Clone(e.fingerprint)
		w.held = append(w.held, held)
		w.size += len(held.text)
		if len(w.held) >= excursionRows || w.size >= excursionSize {
			w.believe()
		}
	}
}

// home ends an excursion: rows are again where they were before it.
func (w *wallClock) home() {
	for i := range w.held {
		e := &w.held[i]
		end := e.at + int64(e.queryTime.saturated()/1000)
		off := end - w.last
		zone := (off + quarterHour/2) / quarterHour * quarterHour
		if off < 0 {
			zone = -((-off + quarterHour/2) / quarterHour * quarterHour)
		}
		if off-zone < quarterHour/4 && zone-off < quarterHour/4 && zone < widestZones && -zone < widestZones {
			e.at -= zone
			w.note(noteOtherZone)
		} else {
			e.at = w.last - int64(e.queryTime.saturated()/1000)
			w.note(noteOwnTime)
		}
		w.emit(e)
	}
	w.held, w.size = nil, 0
}

// believe takes an excursion for what it says. The rows in it may hold excursions of their own: they are taken again from
// their first.
func (w *wallClock) believe() {
	held := w.held
	w.held, w.size, w.last = nil, 0, 0
	for i := range held {
		w.take(&held[i])
	}
}

// flush ends the table.
func (w *wallClock) flush() {
	for len(w.held) > 0 {
		first := &w.held[0]
		if w.last != 0 && first.at+int64(first.queryTime.saturated()/1000) > w.now+clockSlack {
			w.home()
			continue
		}
		w.believe()
	}
}
