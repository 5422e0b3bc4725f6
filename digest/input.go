package digest

import "sort"

// input is what is known about one capture that was read.
type input struct {
	name    string
	kind    string // slowlog, genlog, pcap, empty ..
	dialect string
	bytes   int64
	events  uint64
	left    uint64 // events left out by Since, Until or Filter
	from    int64  // microseconds: when the first event was, of those between Since and Until; 0: no event has a time
	to      int64  // when the last was
	probes  uint64 // how often the host was probed meanwhile, see Probe; 0: it was not
	probe   uint64 // nanoseconds, the median
	skipped []remark
	notes   []remark
}

// remark is something about the input that a reader must know: how often, and where first.
type remark struct {
	reason string
	count  uint64
	bytes  int64
	offset int64 // of the first
}

// skip counts input that is in no event.
func (in *input) skip(reason string, offset, bytes int64) {
	in.skipped = remarkOn(in.skipped, reason, offset, bytes)
}

// extendSkip adds bytes to what was skipped last for a reason.
func (in *input) extendSkip(reason string, bytes int64) {
	for i := range in.skipped {
		if in.skipped[i].reason == reason {
			in.skipped[i].bytes += bytes
		}
	}
}

// note counts something odd that is in an event nonetheless.
func (in *input) note(reason string, offset int64) {
	in.notes = remarkOn(in.notes, reason, offset, 0)
}

func remarkOn(rs []remark, reason string, offset, bytes int64) []remark {
	for i := range rs {
		if rs[i].reason == reason {
			rs[i].count++
			rs[i].bytes += bytes
			rs[i].offset = min(rs[i].offset, offset)
			return rs
		}
	}
	return append(rs, remark{reason, 1, bytes, offset})
}

func sortRemarks(rs []remark) {
	sort.Slice(rs, func(i, j int) bool { return rs[i].reason < rs[j].reason })
}
