package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/vault"
)

// Piece is a stretch of a log as a repository keeps it: one snapshot, whose tags say all but the bytes. It has no gap in it. Pieces of a log
// follow each other or overlap; where they overlap they have the same bytes.
type Piece struct {
	From Mark `json:"from"` // between two transactions, or the beginning of a file
	To   Mark `json:"to"`   // between two transactions of the same log
	// Was is the state of the log at From, Has at To; WasAt and HasAt are the latest seconds of all transactions before them.
	Was   string `json:"was"`
	Has   string `json:"has"`
	WasAt int64  `json:"was_at"`
	HasAt int64  `json:"has_at"`
	Begun int64  `json:"begun"` // when the server made the file of From
	// Checked is when the server's files had been read to their end; To was that end then.
	Checked int64 `json:"checked"`
	// Level is how often pieces were joined to make it: see nextFrom.
	Level int   `json:"level"`
	Bytes int64 `json:"bytes"` // of the log in it
	// Tail is the sum of the bytes before To: see tailSum.
	Tail string `json:"tail"`
	Why  string `json:"why,omitempty"` // the log is not the one before: of log.json

	Kept vault.Piece `json:"kept,omitzero"`
	// since is when a piece was kept that has all of this one.
	since time.Time
}

func (p Piece) log() string { return p.From.Log }

// begins and ends are what is known of the log at From and at To.
func (p Piece) begins() known { return known{Offset: p.From.Offset, At: p.WasAt, State: p.Was} }
func (p Piece) ends() known   { return known{Offset: p.To.Offset, At: p.HasAt, State: p.Has} }

// name is that of the piece's file in the repository, unlike that of any other attempt.
func (p Piece) name(unique string) string {
	return fmt.Sprintf("%s-%s-%d-%s", p.log(), p.To.File, p.To.Offset, unique)
}

// compareMarks orders places of one log.
func compareMarks(a, b Mark) int {
	return cmp.Or(cmp.Compare(numberOf(binlogName(), a.File, 2), numberOf(binlogName(), b.File, 2)), cmp.Compare(a.Offset, b.Offset))
}

// Labels of pieces in a repository. A tag has no comma in it: states have a + instead.
const (
	labelLog, labelFrom, labelTo, labelWas, labelHas, labelWasAt, labelHasAt      = "log", "from", "to", "was", "has", "was_at", "has_at"
	labelBegun, labelChecked, labelLevel, labelLength, labelTail, labelWhy, isLog = "begun", "checked", "level", "length", "tail", "why", "binlogs"
)

func placeOf(m Mark) string { return fmt.Sprintf("%s:%d", m.File, m.Offset) }

func (p Piece) labels() map[string]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	plain := strings.NewReplacer(",", "+", "\n", " ")
	return map[string]string{
		isLog: "1", labelLog: p.log(), labelFrom: placeOf(p.From), labelTo: placeOf(p.To), labelWas: plain.Replace(p.Was), labelHas: plain.Replace(p.Has),
		labelWasAt: number(p.WasAt), labelHasAt: number(p.HasAt), labelBegun: number(p.Begun), labelChecked: number(p.Checked),
		labelLevel: strconv.Itoa(p.Level), labelLength: number(p.Bytes), labelTail: p.Tail, labelWhy: strings.NewReplacer(",", ";", "\n", " ").Replace(p.Why),
	}
}

// pieceOf reads labels. A piece that cannot be read is an error: it may be the one that matters.
func pieceOf(k vault.Piece) (p Piece, err error) {
	said := func(key string) string { return k.Labels[key] }
	number := func(key string) int64 {
		n, bad := strconv.ParseInt(said(key), 10, 64)
		if bad != nil || n < 0 {
			err = cmp.Or(err, fmt.Errorf("%s=%.100q is not a number", key, said(key)))
		}
		return n
	}
	place := func(key string) Mark {
		file, offset, ok := cutLast(said(key), ":")
		n, bad := strconv.ParseInt(offset, 10, 64)
		if !ok || bad != nil || n < 0 || !binlogName().MatchString(file) || strings.ContainsAny(file, "/\x00") {
			err = cmp.Or(err, fmt.Errorf("%s=%.100q is not a place in a binary log", key, said(key)))
		}
		return Mark{Log: said(labelLog), File: file, Offset: n}
	}
	if !logName().MatchString(said(labelLog)) {
		err = fmt.Errorf("log=%.100q is not the name of a log", said(labelLog))
	}
	state := func(key string) string { return strings.ReplaceAll(said(key), "+", ",") }
	p = Piece{
		From: place(labelFrom), To: place(labelTo), Was: state(labelWas), Has: state(labelHas), WasAt: number(labelWasAt), HasAt: number(labelHasAt),
		Begun: number(labelBegun), Checked: number(labelChecked), Level: int(number(labelLevel)), Bytes: number(labelLength), Tail: said(labelTail), Why: said(labelWhy),
		Kept: vault.Piece{ID: k.ID, Path: k.Path, At: k.At, Bytes: k.Bytes, SHA256: k.SHA256},
	}
	if err == nil && compareMarks(p.From, p.To) > 0 {
		err = fmt.Errorf("it begins at %s and ends before that, at %s", p.From, p.To)
	}
	if err != nil {
		err = &farm.Error{Op: "read tags of a piece of a binary log", Subject: k.Path, Err: fmt.Errorf("%w: %w", vault.ErrDamaged, err), Hint: "a person has changed its tags: put them back, with restic tag"}
	}
	return p, err
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// tailSum is the sum of the last bytes of a file before an offset: with their times and checksums they are those of no other log.
func tailSum(r io.ReaderAt, offset int64) (string, error) {
	from := max(0, offset-comparedEnd)
	raw := make([]byte, offset-from)
	if _, err := io.ReadFull(io.NewSectionReader(r, from, offset-from), raw); err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16]), nil
}

// Journal is the name of an instance's binary logs in a repository.
func Journal(instance farm.InstanceName) string { return string(instance) + "/binlog" }

// SpoolKey names the spool of a place: archives of different repositories have nothing to do with each other.
func SpoolKey(p vault.Place) string {
	sum := sha256.Sum256([]byte(p.Restic))
	return hex.EncodeToString(sum[:8])
}
