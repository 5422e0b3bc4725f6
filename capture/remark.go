package capture

// reason is why something was skipped, given up or cannot be known.
type reason uint8

const (
	fileCut reason = iota
	fileDamaged
	noTime
	noInterface
	noLink
	noIP
	noTCP
	noPort
	badHead
	noPacket
	noBytes
	noFragments
	snapped
	foreign
	encrypted
	zstdCompressed
	replication
	lostFromClient
	lostFromServer
	noRequest
	noAnswer
	noLogin
	requestCut
	requestUnfinished
	preparedBefore
	statementDropped
	oddPacket
	tooDeep
	inflateFailed
	oneSided
	renumbered
	evicted
	reasonCount
)

// reasonText says what a Count counts.
var reasonText = [reasonCount]string{
	fileCut:           "bytes at the end of the file: cut off inside a packet",
	fileDamaged:       "places where the file is damaged: the rest of the file, or of the block, is not read",
	noTime:            "packets without a time",
	noInterface:       "packets of an interface that the file does not describe",
	noLink:            "packets of a link type that is not known",
	noIP:              "packets that are not IP",
	noTCP:             "packets that are not TCP",
	noPort:            "packets of ports that were not asked for",
	badHead:           "packets whose headers are damaged or cut off",
	noPacket:          "lines of text that belong to no packet",
	noBytes:           "packets without bytes in the text: was tcpdump run without -x?",
	noFragments:       "IP datagrams with missing fragments",
	snapped:           "bytes that the capture cut off from packets (snap length)",
	foreign:           "connections that do not speak the MySQL protocol",
	encrypted:         "connections that are encrypted (TLS): their statements cannot be read",
	zstdCompressed:    "connections compressed with zstd: their statements are not read",
	replication:       "replication streams: left out",
	lostFromClient:    "bytes from clients that are not in the capture",
	lostFromServer:    "bytes from servers that are not in the capture",
	noRequest:         "answers whose request is not in the capture",
	noAnswer:          "requests whose answer, or a part of it, is not in the capture",
	noLogin:           "connections that ended between the server's greeting and a login",
	requestCut:        "requests that are not whole in the capture, or longer than is kept",
	requestUnfinished: "requests that the client had not finished when the capture or the connection ended",
	preparedBefore:    "executions of statements that were prepared before the capture",
	statementDropped:  "prepared statements forgotten: too many, or too long",
	oddPacket:         "protocol packets that do not fit where they stand",
	tooDeep:           "requests given up: too many sent without waiting for an answer",
	inflateFailed:     "compressed packets that cannot be unpacked",
	oneSided:          "connections with only one direction in the capture",
	renumbered:        "segments whose numbers contradict what they hold: the capture was put together from pieces, or rewritten",
	evicted:           "connections given up: too many at once, or too much memory",
}

// isLoss says of which reasons events may be missing, or parts of them. Of the
// others, either an event tells (Incomplete, Truncated), or nothing of MySQL is
// concerned.
var isLoss = [reasonCount]bool{
	fileCut: true, fileDamaged: true, noInterface: true, noLink: true, badHead: true, noPacket: true, noBytes: true, noFragments: true,
	encrypted: true, zstdCompressed: true, lostFromClient: true, lostFromServer: true, noRequest: true, requestUnfinished: true,
	inflateFailed: true, evicted: true,
}

type note struct {
	count uint64
	first int64
}

// note counts something that happened at the present packet.
func (t *tap) note(r reason, n uint64) {
	if n == 0 {
		return
	}
	if t.notes[r].count == 0 {
		t.notes[r].first = t.offset
	}
	t.notes[r].count += n
}

func (t *tap) remarks() []Remark {
	var list []Remark
	for r, n := range t.notes {
		if n.count > 0 {
			list = append(list, Remark{reasonText[r], n.count, n.first, isLoss[r]})
		}
	}
	return list
}

// maxLosses is how many connections are distinguished in Summary.Losses.
const maxLosses = 1000

// lose counts bytes that are not in the capture.
func (t *tap) lose(s *session, dir, n int) {
	if s.loss.Gaps == 0 {
		s.loss.FirstOffset = t.offset
	}
	s.loss.Gaps++
	if dir == int(s.client) {
		t.note(lostFromClient, uint64(n))
		s.loss.FromClient += uint64(n)
	} else {
		t.note(lostFromServer, uint64(n))
		s.loss.FromServer += uint64(n)
	}
}

// settleLoss takes over what a connection lost, at its end.
func (t *tap) settleLoss(s *session) {
	if s.loss.Gaps == 0 {
		return
	}
	t.sum.Lossy++
	if len(t.losses) < maxLosses && s.client >= 0 {
		s.loss.Client, s.loss.Server = s.key[s.client].String(), s.key[1-s.client].String()
		t.losses = append(t.losses, s.loss)
	}
	s.loss = Loss{}
}
