package claims

import (
	"strconv"
	"time"
)

// Kind is what a subject is.
type Kind string

// The kinds, in the order of reports.
const (
	Host     Kind = "host"
	Instance Kind = "instance"
	Pair     Kind = "pair"
	Shard    Kind = "shard"
)

// Kinds are all kinds of subjects.
var Kinds = []Kind{Host, Instance, Pair, Shard}

// Subject is what a claim speaks of. An instance may be named by its address,
// host:port, where the source has no other name for it.
type Subject struct {
	Kind Kind
	Name string
}

// Claim is one sentence of one source.
type Claim struct {
	Subject   Subject
	Attribute string // "" claims only that the subject is there
	Value     string
	Unknown   bool // the source has a value, which is secret, a template or computed
	Place     Place
	At        time.Time // zero: when the source was read
}

// Place is where a claim stands: file and line, a query, a URL.
type Place struct {
	Where string
	Line  int // from 1; 0 without lines
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.Where
	}
	return p.Where + ":" + strconv.Itoa(p.Line)
}

// Source is who makes claims.
type Source struct {
	Name   string
	Kind   string    // "csv", "live", ...
	Where  string    // path or address, for what a source does not say anywhere
	At     time.Time // when it was written or asked
	IsLive bool      // servers that speak of themselves
	CopyOf string    // the source that feeds this one; "" for none
	// Covers are the kinds of which the source should list every subject. Nil:
	// those of which it lists nearly all.
	Covers []Kind
	// CoversMore: besides Covers those of which it lists nearly all.
	CoversMore bool
	// IsPart: it was not read to its end, or not without faults. What it does
	// not say means nothing.
	IsPart bool
	// IsStale: it could not be read now; its claims are those of At.
	IsStale bool
	Why     string // why it is stale or in part
}

// MostSources is how many sources a set may have.
const MostSources = 64

// Set collects claims. It keeps each text once: a large farm makes millions of
// claims out of few words. Set is not safe for several goroutines.
type Set struct {
	sources  []Source
	words    numbering[string]
	subjects numbering[Subject]
	names    numbering[string] // of attributes
	times    numbering[int64]
	rows     []row
}

// row is a claim in numbers of the tables.
type row struct {
	subject, value, where uint32
	line                  int32
	at                    uint32
	attribute             uint16 // in the words of the source
	source                uint8
	unknown               bool
}

// numbering gives things numbers.
type numbering[T comparable] struct {
	numbers map[T]uint32
	things  []T
}

func (t *numbering[T]) number(x T) uint32 {
	if n, ok := t.numbers[x]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = map[T]uint32{}
	}
	n := uint32(len(t.things))
	t.numbers[x] = n
	t.things = append(t.things, x)
	return n
}

// AddSource makes a source known. Its number is for Add. Beyond MostSources it
// is false.
func (s *Set) AddSource(src Source) (int, bool) {
	if len(s.sources) == MostSources {
		return 0, false
	}
	s.sources = append(s.sources, src)
	return len(s.sources) - 1, true
}

// Source is a source for changing what is known of it after it was read.
func (s *Set) Source(n int) *Source { return &s.sources[n] }

// Grow makes room for n more claims.
func (s *Set) Grow(n int) {
	s.rows = append(make([]row, 0, len(s.rows)+n), s.rows...)
}

// Add takes a claim of a source. Without a name it is not taken.
func (s *Set) Add(source int, c Claim) {
	name := plainName(c.Subject.Name)
	if name == "" {
		return
	}
	at := int64(0)
	if !c.At.IsZero() {
		at = c.At.UnixNano()
	}
	key := s.names.number(attributeName(c.Attribute))
	s.rows = append(s.rows, row{
		subject: s.subjects.number(Subject{c.Subject.Kind, name}), value: s.words.number(c.Value), where: s.words.number(c.Place.Where),
		line: int32(c.Place.Line), at: s.times.number(at), attribute: uint16(key), source: uint8(source), unknown: c.Unknown,
	})
}

// Claims is how many a source has made.
func (s *Set) Claims(source int) int {
	n := 0
	for i := range s.rows {
		if int(s.rows[i].source) == source {
			n++
		}
	}
	return n
}
