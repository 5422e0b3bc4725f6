package capture

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ErrNotCapture says that the input is neither pcap nor pcapng, nor tcpdump's
// text.
var ErrNotCapture = errors.New("not a pcap or pcapng file, nor the text of tcpdump -x")

// Options of Read. The zero value is fine.
type Options struct {
	// Ports of the servers. Empty: port 3306, and every place where a server's
	// greeting or a client's command is recognised.
	Ports []uint16
	// MaxQuery is how many bytes of a statement are kept; 0 means 1 MiB.
	MaxQuery int
	// MaxSessions is how many connections are followed at once; 0 means
	// 20,000. Beyond it, those that were silent for the longest are given up.
	MaxSessions int
	// SkipArgs leaves Event.Args empty, for those who only count.
	SkipArgs bool
}

// Event is one command of a client and the server's answer. It and its slices
// are valid until the callback returns.
type Event struct {
	At             time.Time // of the first byte of the request; zero where the capture has no times
	Offset         int64     // in the file, of the packet that completed the request
	Began          time.Time // of the connection's first packet in the capture
	Client, Server string    // ip:port
	Session        uint64    // the connection, counted from 1 in the order of appearance
	User, DB       string    // as at the time of the command; empty where the login is not in the capture
	Command        Command

	// Query is the statement; for execute, fetch, reset and close that of the
	// prepared statement, without its values; for init_db the database; for
	// change_user the user. Empty where it was prepared before the capture.
	Query      []byte
	QueryBytes uint64  // how long the statement really is
	Truncated  bool    // Query is not all of it: snapped, lost or longer than MaxQuery
	Holed      bool    // bytes of the request were lost: Query is what stood before them
	Statement  int     // 1, 2, ... where one text held several statements, each of which is an event; else 0
	Prepared   uint32  // the number the server gave to the prepared statement; 0 for other commands
	Args       []Value // the values bound to an execute, where they can be decoded

	// Latency is the time from the request's last segment to the first byte of
	// the answer, Total that to its last byte. A request that was sent while an
	// earlier one was being answered is timed from the end of that answer.
	Latency, Total   time.Duration
	AnswerAt, DoneAt time.Time // of the answer's first and last byte; zero where they are not known
	Answered         bool      // Latency is known
	Incomplete       bool      // the answer, or a part of it, was not seen: Total and the counts are what was seen of it
	Aborted          bool      // of a connect: the connection ended between the server's greeting and a login, at DoneAt

	RowsSent, RowsAffected uint64
	BytesSent              uint64 // by the server, with packet headers, before compression
	Warnings               uint16
	ErrorCode              uint16 // 0: no error
	ErrorText              string

	statement *statement // of an execute
}

// Remark is one kind of thing that was skipped or given up.
type Remark struct {
	Reason      string
	Count       uint64 // packets, bytes or connections, as the reason says
	FirstOffset int64  // in the file, of the packet at which it happened first
	IsLoss      bool   // because of it events may be missing, or parts of them
}

// Loss is what the capture does not have of one connection.
type Loss struct {
	Client, Server         string
	FromClient, FromServer uint64 // bytes
	Gaps                   uint64 // places where they are missing
	FirstOffset            int64  // in the file, of the packet at which the first was noticed
}

// Summary is what there is to say about the capture as a whole.
type Summary struct {
	Format      Format
	LinkTypes   []string // in the order of appearance
	Packets     uint64
	Bytes       uint64 // of the file
	Events      uint64
	Sessions    uint64 // connections recognised as MySQL protocol
	Skipped     []Remark
	Losses      []Loss    // the first thousand, by FirstOffset
	Lossy       uint64    // how many connections lost something
	First, Last time.Time // packet times; zero where there are none
	TLS         uint64    // connections that are encrypted: only their beginning can be read
	Compressed  uint64    // connections with the compressed protocol; zlib is read, zstd is not
}

// Format is what a capture is written in.
type Format string

// The formats that Read knows.
const (
	FormatPcap   Format = "pcap"
	FormatPcapng Format = "pcapng"
	FormatText   Format = "tcpdump text" // of tcpdump -x
)

// FormatOf says in which format a file is that begins so; empty: in none. Four
// bytes decide, twelve make sure; for tcpdump's text it takes the first lines.
func FormatOf(head []byte) Format {
	switch {
	case isPcap(head):
		return FormatPcap
	case isPcapng(head):
		return FormatPcapng
	case isText(head):
		return FormatText
	}
	return ""
}

// IsCapture says whether a file that begins so is a capture.
func IsCapture(head []byte) bool { return FormatOf(head) != "" }

// peekSize is how much of the file is in memory; records beyond it are read
// into a buffer of their own.
const peekSize = 256 << 10

// Read reads one capture to its end and calls each for every event. A file
// that is cut off or damaged is read as far as it goes, with a remark; errors
// are ErrNotCapture and those of r. name is for error texts only.
func Read(name string, r io.Reader, o Options, each func(*Event)) (Summary, error) {
	in := bufio.NewReaderSize(r, peekSize)
	head, err := in.Peek(textNeeds)
	if err != nil && !errors.Is(err, io.EOF) {
		return Summary{}, fmt.Errorf("read capture %s: %w", name, err)
	}
	t := newTap(o, each)
	t.sum.Format = FormatOf(head)
	switch t.sum.Format {
	case FormatPcap:
		err = t.readPcap(in)
	case FormatPcapng:
		err = t.readPcapng(in)
	case FormatText:
		err = t.readText(in)
	default:
		err = ErrNotCapture
	}
	t.finish()
	if err != nil {
		return t.summary(), fmt.Errorf("read capture %s: %w", name, err)
	}
	return t.summary(), nil
}

// tap is one capture that is being read.
type tap struct {
	o     Options
	each  func(*Event)
	ports map[uint16]bool // that were asked for; nil: none
	sum   Summary
	notes [reasonCount]note

	links  []uint32 // link types seen
	offset int64    // of the present packet in the file
	at     int64    // of the present packet, nanoseconds since the epoch; 0 unknown
	first  int64
	last   int64

	// The present packet. They are here so that no packet needs memory of
	// its own.
	ends pair
	seg  segment

	losses []Loss
	text   []byte // memory for dates among the values

	fragments fragments
	table     table
	mem       int // bytes held by all sessions apart from the sessions themselves
	inflate   inflater
	ev        Event
}

func newTap(o Options, each func(*Event)) *tap {
	if o.MaxQuery <= 0 {
		o.MaxQuery = 1 << 20
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 20_000
	}
	t := &tap{o: o, each: each}
	t.table.init()
	if len(o.Ports) > 0 {
		t.ports = map[uint16]bool{}
		for _, p := range o.Ports {
			t.ports[p] = true
		}
	}
	return t
}

// packet takes in one packet of a file.
func (t *tap) packet(link uint32, at int64, data []byte, wire int) {
	t.arrived(at)
	t.link(link, data, wire)
}

// arrived counts a packet and makes its time the present.
func (t *tap) arrived(at int64) {
	t.sum.Packets++
	t.at = at
	if at != 0 {
		if t.first == 0 || at < t.first {
			t.first = at
		}
		t.last = max(t.last, at)
	}
}

// finish ends all connections.
func (t *tap) finish() {
	t.note(noFragments, uint64(len(t.fragments.waiting)))
	for s := t.table.oldest(); s != nil; s = t.table.oldest() {
		t.end(s)
		t.table.remove(s)
	}
}

func (t *tap) summary() Summary {
	s := t.sum
	for _, l := range t.links {
		s.LinkTypes = append(s.LinkTypes, linkName(l))
	}
	s.Skipped = t.remarks()
	s.Losses = slices.Clone(t.losses)
	slices.SortFunc(s.Losses, func(a, b Loss) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	if t.first != 0 {
		s.First, s.Last = moment(t.first), moment(t.last)
	}
	return s
}

// moment turns packet time into time.
func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// uint24 is the length in the head of a packet.
func uint24(d []byte) int { return int(d[0]) | int(d[1])<<8 | int(d[2])<<16 }

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)
