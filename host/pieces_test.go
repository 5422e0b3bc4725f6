package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/binlog"
	"stowage/vault"
)

// writer writes files as a server writes its binary log.
type writer struct {
	t      *testing.T
	dir    string
	server uint32
	seq    uint64
	now    int64
	number int
	names  []string
}

func newWriter(t *testing.T, server uint32) *writer {
	w := &writer{t: t, dir: t.TempDir(), server: server, now: 1_700_000_000}
	w.begin()
	return w
}

func (w *writer) instance() Instance { return Instance{Name: "s", Datadir: w.dir} }

func (w *writer) index() string { return filepath.Join(w.dir, "bl.index") }

func (w *writer) last() string { return filepath.Join(w.dir, w.names[len(w.names)-1]) }

// event appends one to the last file.
func (w *writer) event(kind byte, body []byte) {
	f, err := os.OpenFile(w.last(), os.O_RDWR|os.O_CREATE, 0o600)
	ok(w.t, err)
	defer f.Close()
	at, err := f.Seek(0, io.SeekEnd)
	ok(w.t, err)
	e := make([]byte, 19, 23+len(body))
	binary.LittleEndian.PutUint32(e, uint32(w.now))
	e[4] = kind
	binary.LittleEndian.PutUint32(e[5:], w.server)
	binary.LittleEndian.PutUint32(e[9:], uint32(19+len(body)+4))
	binary.LittleEndian.PutUint32(e[13:], uint32(at)+uint32(19+len(body)+4))
	e = append(e, body...)
	_, err = f.Write(binary.LittleEndian.AppendUint32(e, crc32.ChecksumIEEE(e)))
	ok(w.t, err)
}

// begin begins a file.
func (w *writer) begin() {
	w.number++
	w.names = append(w.names, fmt.Sprintf("bl.%06d", w.number))
	ok(w.t, os.WriteFile(w.last(), []byte("\xfebin"), 0o600))
	format := make([]byte, 2+50+4+1+20)
	format[0], format[56] = 4, 19
	copy(format[2:], "10.11.11-MariaDB-log")
	format[len(format)-1] = 1
	w.event(15, format)
	list := binary.LittleEndian.AppendUint32(nil, 0)
	if w.seq > 0 {
		list = binary.LittleEndian.AppendUint32(nil, 1)
		list = binary.LittleEndian.AppendUint32(list, 0)
		list = binary.LittleEndian.AppendUint32(list, w.server)
		list = binary.LittleEndian.AppendUint64(list, w.seq)
	}
	w.event(163, list)
	w.list()
}

func (w *writer) list() {
	ok(w.t, os.WriteFile(w.index(), []byte(strings.Join(w.names, "\n")+"\n"), 0o600))
}

// transaction writes one.
func (w *writer) transaction(size int) {
	w.seq++
	w.now += []int64{0, 0, 1, 5, 61}[rand.IntN(5)]
	gtid := make([]byte, 19)
	binary.LittleEndian.PutUint64(gtid, w.seq)
	w.event(162, gtid)
	rows := make([]byte, size)
	for i := range rows {
		rows[i] = byte(rand.Uint32())
	}
	w.event(23, rows)
	w.event(16, binary.LittleEndian.AppendUint64(nil, w.seq))
}

func (w *writer) rotate() {
	w.event(4, append(make([]byte, 8), fmt.Sprintf("bl.%06d", w.number+1)...))
	w.begin()
}

// purge removes all files but the newest few.
func (w *writer) purge(left int) {
	for len(w.names) > left {
		ok(w.t, os.Remove(filepath.Join(w.dir, w.names[0])))
		w.names = w.names[1:]
	}
	w.list()
}

// remote is a repository in memory.
type remote struct {
	pieces []Piece
	bytes  map[string][]byte
	most   int64
}

func (r *remote) kept() Kept { return keptOf(chains(slices.Clone(r.pieces)), r.most, time.Now()) }

func (r *remote) take(p Piece, raw []byte) error {
	if err := wholePiece(bytes.NewReader(raw), p); err != nil {
		return err
	}
	labels := p.labels()
	for key, v := range labels {
		if strings.ContainsAny(v, ",\n") {
			return fmt.Errorf("%s=%q", key, v)
		}
	}
	id := fmt.Sprint(len(r.bytes))
	p, err := pieceOf(vault.Piece{ID: id, Labels: labels, At: time.Unix(int64(len(r.bytes)), 0), Bytes: int64(len(raw))})
	r.pieces = append(r.pieces, p)
	r.bytes[id] = raw
	return err
}

func (r *remote) stream(all []Piece) io.Reader {
	var parts []io.Reader
	for _, p := range all {
		parts = append(parts, bytes.NewReader(r.bytes[p.Kept.ID]))
	}
	return io.MultiReader(parts...)
}

func (r *remote) forget(all []Piece) {
	r.pieces = slices.DeleteFunc(r.pieces, func(p Piece) bool {
		return slices.ContainsFunc(all, func(x Piece) bool { return x.Kept.ID == p.Kept.ID })
	})
}

func (r *remote) spare() (all []Piece) {
	for _, c := range chains(slices.Clone(r.pieces)) {
		all = append(all, c.disused(time.Now())...)
	}
	return all
}

const testKey = "0123456789abcdef"

// pass is what package backup does with a repository; it ends after so many pieces, as if it were killed.
func pass(t *testing.T, l *Local, w *writer, r *remote, pieces int) error {
	t.Helper()
	s := Spooling{Instance: w.instance(), Index: w.index(), Key: testKey, Most: 40_000}
	kept := r.kept()
	for range 1000 {
		s.Kept = &kept
		got, err := l.SpoolBinlogs(t.Context(), s)
		if err != nil {
			return err
		}
		if got.Behind {
			if _, err := l.receiveTail(t.Context(), w.instance(), testKey, r.stream(mustPick(t, Wanted{Tail: true}, r))); err != nil {
				return err
			}
			continue
		}
		s.Still = !got.More
		if got.Next == nil {
			if got.More {
				continue
			}
			return nil
		}
		if pieces--; pieces < 0 {
			return nil
		}
		var raw bytes.Buffer
		if err := l.sendPiece(t.Context(), w.instance(), testKey, *got.Next, &raw); err != nil {
			return err
		}
		if err := r.take(*got.Next, raw.Bytes()); err != nil {
			return err
		}
		was := kept.With(*got.Next)
		if kept = r.kept(); was.Last != kept.Last || was.Bytes != kept.Bytes || was.Files != kept.Files || was.Until != kept.Until || len(was.Gaps) != len(kept.Gaps) || len(was.Logs) != len(kept.Logs) {
			t.Errorf("after a piece it says %+v, and the repository %+v", was.Archived, kept.Archived)
		}
	}
	return errors.New("it never ends")
}

func mustPick(t *testing.T, w Wanted, r *remote) []Piece {
	t.Helper()
	all, err := w.pick(chains(slices.Clone(r.pieces)))
	ok(t, err)
	return all
}

// backupPoint is where a copy of the server stands.
type backupPoint struct {
	at       SeedPoint
	position string
	second   int64
}

// TestRepositoryHasWhatADirectoryHas: whatever happens to server, spool and repository, what is pulled is byte for byte the archive of a directory, and
// each second is found at the same place.
func TestRepositoryHasWhatADirectoryHas(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 4 {
		w := newWriter(t, 7)
		l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
		plain := filepath.Join(t.TempDir(), "s", "binlog")
		r := &remote{bytes: map[string][]byte{}, most: []int64{20_000, 300_000}[round%2]}
		var points []backupPoint
		pending := false // the last pass was cut short
		restored, pulled, held := 0, 0, int64(0)
		for range 150 {
			switch random.IntN(14) {
			case 0, 1, 2, 3, 4:
				for range 1 + random.IntN(20) {
					w.transaction(random.IntN(500))
				}
			case 5:
				w.rotate()
			case 6:
				if random.IntN(4) == 0 {
					if pending { // the directory has it
						_, err := l.ArchiveBinlogs(t.Context(), w.instance(), w.index(), plain)
						ok(t, err)
						ok(t, pass(t, l, w, r, 1000))
					}
					pending = false
					w.purge(1) // perhaps before it was archived
				}
			case 7:
				if random.IntN(4) == 0 {
					ok(t, os.RemoveAll(l.spool))
				}
			case 8:
				r.forget(r.spare())
			case 9:
				_, err := l.ArchiveBinlogs(t.Context(), w.instance(), w.index(), plain)
				ok(t, err)
				ok(t, pass(t, l, w, r, random.IntN(3)))
				pending = true
			case 10:
				if w.seq == 0 {
					continue
				}
				f, err := os.Stat(w.last())
				ok(t, err)
				points = append(points, backupPoint{SeedPoint{File: filepath.Base(w.last()), Offset: f.Size()}, fmt.Sprintf("0-7-%d", w.seq), w.now})
			default:
				_, err := l.ArchiveBinlogs(t.Context(), w.instance(), w.index(), plain)
				ok(t, err)
				ok(t, pass(t, l, w, r, 1000))
				pending = false
				k := r.kept()
				if p := len(chains(slices.Clone(r.pieces))[0].pieces); p > 20+int(k.Bytes/2000) {
					t.Errorf("%d pieces for %d bytes", p, k.Bytes)
				}
				restored, pulled = compareWithPlain(t, random, l, r, plain, points, restored, pulled)
				if got, err := l.SpoolBinlogs(t.Context(), Spooling{Instance: w.instance(), Key: testKey, Still: true}); err == nil {
					held = max(held, got.Held)
				}
			}
		}
		t.Logf("round %d: %d pieces ever, %d now, %d bytes, %d gaps; %d places found as in the directory, %d pulls; the spool had %d bytes at most", round, len(r.bytes), len(r.pieces), r.kept().Bytes, len(r.kept().Gaps), restored, pulled, held)
	}
}

// TestCopyInAFileThatWasDropped: the server drops the file in which a copy stands before it is archived. No transaction was lost with it, so the copy continues with the next file.
func TestCopyInAFileThatWasDropped(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	plain, r := filepath.Join(t.TempDir(), "s", "binlog"), &remote{bytes: map[string][]byte{}, most: 20_000}
	archive := func() {
		_, err := l.ArchiveBinlogs(t.Context(), w.instance(), w.index(), plain)
		ok(t, err)
		ok(t, pass(t, l, w, r, 1000))
	}
	w.transaction(200)
	archive()
	w.rotate()
	f, err := os.Stat(w.last())
	ok(t, err)
	empty := backupPoint{SeedPoint{File: filepath.Base(w.last()), Offset: f.Size()}, fmt.Sprintf("0-7-%d", w.seq), w.now}
	w.rotate()
	w.purge(1)
	w.transaction(200)
	f, err = os.Stat(w.last())
	ok(t, err)
	archive()
	if n, _ := compareWithPlain(t, rand.New(rand.NewPCG(1, 1)), l, r, plain, []backupPoint{empty}, 0, 0); n != 1 {
		t.Error("a copy in an empty file that was dropped cannot go on")
	}
	lost := backupPoint{SeedPoint{File: filepath.Base(w.last()), Offset: f.Size() + 1}, fmt.Sprintf("0-7-%d", w.seq+1), w.now}
	w.transaction(200) // the copy stands behind it
	w.transaction(200)
	w.rotate()
	w.purge(1)
	w.transaction(200)
	archive()
	if n, _ := compareWithPlain(t, rand.New(rand.NewPCG(1, 1)), l, r, plain, []backupPoint{lost}, 0, 0); n != 0 {
		t.Error("a copy goes on where a transaction behind it is lost")
	}
	without := chain{pieces: []Piece{{From: Mark{File: "bl.000003"}, To: Mark{File: "bl.000003", Offset: 500}}}}
	if n := without.beginBehind(SeedPoint{File: "bl.000001", Offset: 200}, ""); n != -1 {
		t.Error("a copy without GTIDs goes on where nobody knows what is lost")
	}
}

// TestASpoolBeginsWithAPieceThatHasNothingOfItsFirstFile: the server removed a file before its last event was read, so the next piece begins at the end
// of what was read. A spool that is lost then begins with that piece, and has the file as long as it was.
func TestASpoolBeginsWithAPieceThatHasNothingOfItsFirstFile(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	r := &remote{bytes: map[string][]byte{}, most: 20_000}
	w.transaction(2000)
	ok(t, pass(t, l, w, r, 1000))
	w.rotate()
	w.purge(1)
	ok(t, pass(t, l, w, r, 1000))
	for range 2 * joinedAtOnce {
		ok(t, os.RemoveAll(l.spool))
		w.transaction(100)
		ok(t, pass(t, l, w, r, 1000))
	}
	for _, p := range r.pieces {
		if compareMarks(p.From, p.To) >= 0 || p.Bytes <= 0 {
			t.Errorf("%+v", p)
		}
	}
	if k := r.kept(); len(k.Gaps) > 0 || k.Position != fmt.Sprintf("0-7-%d", w.seq) {
		t.Errorf("%+v", k.Archived)
	}
}

// compareWithPlain pulls for a backup and a second, and looks it up in both.
func compareWithPlain(t *testing.T, random *rand.Rand, l *Local, r *remote, plain string, points []backupPoint, restored, pulled int) (int, int) {
	t.Helper()
	if len(points) == 0 {
		return restored, pulled
	}
	b := points[random.IntN(len(points))]
	state, err := l.ArchiveState(t.Context(), plain)
	ok(t, err)
	at := time.Unix(b.second+random.Int64N(max(1, state.LastAt.Unix()-b.second)), 0).UTC()
	want := Wanted{Point: b.at, Position: b.position, At: at}
	from, err := l.ArchiveFrom(t.Context(), plain, b.at, b.position)
	var to Found
	if err == nil {
		to, err = l.ArchiveAt(t.Context(), plain, at)
	}
	if err == nil && crosses(state.Gaps, from.Mark, to.Mark) {
		err = ErrNotArchived
	}
	all, pickErr := want.pick(chains(slices.Clone(r.pieces)))
	if (err == nil) != (pickErr == nil) {
		t.Fatalf("%+v at %s: the directory says %v, the repository %v", b, at, err, pickErr)
	}
	if err != nil {
		return restored, pulled
	}
	i := beside(t)
	_, err = l.pull(t.Context(), i, r.stream(all))
	ok(t, err)
	into := PulledDir(i)
	ok(t, l.CheckBinlogs(t.Context(), into))
	from2, err := l.ArchiveFrom(t.Context(), into, b.at, b.position)
	ok(t, err)
	to2, err := l.ArchiveAt(t.Context(), into, at)
	ok(t, err)
	if from2 != from || to2 != to {
		t.Errorf("from %+v to %+v in the directory, from %+v to %+v in the repository", from, to, from2, to2)
	}
	files, err := filepath.Glob(filepath.Join(into, "*", "bl.??????"))
	ok(t, err)
	for _, f := range files {
		got, err := os.ReadFile(f)
		ok(t, err)
		was, err := os.ReadFile(filepath.Join(plain, filepath.Base(filepath.Dir(f)), filepath.Base(f)))
		ok(t, err)
		if !bytes.HasPrefix(was, got) {
			t.Errorf("%s differs from the directory's", f)
		}
	}
	ok(t, l.RemovePulled(t.Context(), i))
	return restored + 1, pulled + len(all)
}

func crosses(gaps []Gap, from, to Mark) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool { return compareMarks(g.After, from) >= 0 && compareMarks(g.Before, to) <= 0 })
}

// TestRolledBackMachine: server and spool are brought back from a copy, and the server writes other transactions of the same numbers. Nothing that the
// repository has is replaced: it is another log.
func TestRolledBackMachine(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	r := &remote{bytes: map[string][]byte{}, most: 20_000}
	for range 30 {
		w.transaction(200)
	}
	ok(t, pass(t, l, w, r, 1000))
	data, spool, seq := t.TempDir(), filepath.Join(t.TempDir(), "spool"), w.seq
	ok(t, os.CopyFS(filepath.Join(data, "data"), os.DirFS(w.dir)))
	ok(t, os.CopyFS(spool, os.DirFS(l.spool)))
	for range 30 {
		w.transaction(200)
	}
	ok(t, pass(t, l, w, r, 1000))
	was := r.kept()
	w.dir, l.spool, w.seq = filepath.Join(data, "data"), spool, seq
	for range 60 {
		w.transaction(200)
	}
	// While the repository did not answer, the spool went on as if nothing had happened.
	_, err := l.SpoolBinlogs(t.Context(), Spooling{Instance: w.instance(), Index: w.index(), Key: testKey, Most: 1 << 20})
	ok(t, err)
	ok(t, pass(t, l, w, r, 1000))
	is := r.kept()
	if is.Identity == was.Identity || len(is.Forks) != 1 || len(is.Logs) != 2 || is.Logs[0].Last.To != was.Last || is.Position != fmt.Sprintf("0-7-%d", w.seq) {
		t.Errorf("was %+v, is %+v", was, is)
	}
	if aside, _ := filepath.Glob(filepath.Join(l.spool, testKey, "s", "binlog", setAside+"-*")); len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
}

// TestPrunedPieces: what a backup needs stays, and nothing before its file.
func TestPrunedPieces(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	r := &remote{bytes: map[string][]byte{}, most: 3000}
	var points []backupPoint
	for n := range 60 {
		w.transaction(400)
		if n%7 == 3 {
			w.rotate()
		}
		if n%10 == 5 {
			f, err := os.Stat(w.last())
			ok(t, err)
			points = append(points, backupPoint{SeedPoint{File: filepath.Base(w.last()), Offset: f.Size()}, fmt.Sprintf("0-7-%d", w.seq), w.now})
		}
		ok(t, pass(t, l, w, r, 1000))
	}
	for n, b := range points {
		drop, is := before(chains(slices.Clone(r.pieces)), b.at, b.position)
		if !is || n > 0 && len(drop) == 0 {
			t.Errorf("%+v: %t, %d pieces", b, is, len(drop))
		}
		r.forget(drop)
		for m, other := range points {
			_, err := Wanted{Point: other.at, Position: other.position}.pick(chains(slices.Clone(r.pieces)))
			if m >= n && err != nil {
				t.Errorf("pruned before %+v: %+v: %v", b, other, err)
			}
		}
		if first := chains(slices.Clone(r.pieces))[0].pieces[0]; first.To.File < b.at.File {
			t.Errorf("pruned before %+v: there is %s to %s", b, first.From, first.To)
		}
	}
	if _, is := before(chains(slices.Clone(r.pieces)), points[0].at, points[0].position); is {
		t.Error("a backup of which the log is gone is found")
	}
	wrong := points[len(points)-1]
	if drop, is := before(chains(slices.Clone(r.pieces)), wrong.at, "0-7-999999"); is || len(drop) > 0 {
		t.Error("a backup of another log is found")
	}
}

// TestDamagedSpool: a byte that changed in the spool never comes into the repository.
func TestDamagedSpool(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	r := &remote{bytes: map[string][]byte{}, most: 20_000}
	for range 30 {
		w.transaction(200)
	}
	ok(t, pass(t, l, w, r, 0)) // all is in the spool, nothing in the repository
	files, err := filepath.Glob(filepath.Join(l.spool, testKey, "s", "binlog", "0001-*", "bl.000001"))
	ok(t, err)
	raw, err := os.ReadFile(files[0])
	ok(t, err)
	raw[len(raw)/2] ^= 4
	ok(t, os.WriteFile(files[0], raw, 0o600))
	var fault *binlog.Fault
	if err := pass(t, l, w, r, 1000); !errors.As(err, &fault) || !strings.Contains(err.Error(), "bl.000001") || len(r.pieces) != 0 {
		t.Errorf("%v, %d pieces", err, len(r.pieces))
	}
}

// TestGapWhileTheRepositoryIsAway: what the server removed meanwhile is a gap between two pieces, never in one, so that a list names it. Up to there instances can be
// restored, and from backups behind it.
func TestGapWhileTheRepositoryIsAway(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	r := &remote{bytes: map[string][]byte{}, most: 300_000}
	write := func() {
		for range 10 {
			w.transaction(200)
		}
	}
	away := func() {
		_, err := l.SpoolBinlogs(t.Context(), Spooling{Instance: w.instance(), Index: w.index(), Key: testKey, Most: 1 << 20})
		ok(t, err)
	}
	write()
	ok(t, pass(t, l, w, r, 1000))
	first := backupPoint{SeedPoint{File: "bl.000001", Offset: r.kept().Last.Offset}, fmt.Sprintf("0-7-%d", w.seq), w.now}
	write()
	away()
	last := w.seq
	write() // nobody reads these
	w.rotate()
	w.rotate()
	w.purge(1)
	write()
	away()
	ok(t, pass(t, l, w, r, 1000))
	k := r.kept()
	if len(k.Gaps) != 1 || k.Gaps[0].Has != fmt.Sprintf("0-7-%d", last) || k.Gaps[0].Before.File != "bl.000003" || k.Position != fmt.Sprintf("0-7-%d", w.seq) {
		t.Errorf("%+v", k.Archived)
	}
	all := chains(slices.Clone(r.pieces))
	if _, err := (Wanted{Point: first.at, Position: first.position}).pick(all); !errors.Is(err, ErrNotArchived) || !strings.Contains(err.Error(), "bl.000003") {
		t.Errorf("across the gap: %v", err)
	}
	if got, err := (Wanted{Point: first.at, Position: first.position, GTIDs: fmt.Sprintf("0-7-%d", last)}).pick(all); err != nil || len(got) == 0 {
		t.Errorf("before the gap: %v", err)
	}
	if _, err := (Wanted{Point: SeedPoint{File: "bl.000003", Offset: k.Last.Offset}, Position: k.Position}).pick(all); err != nil {
		t.Errorf("behind the gap: %v", err)
	}
}

// TestSilenceIsTold: an archive reaches the moment of the last pass, also where the server has written nothing since, unless it was told so a moment ago.
func TestSilenceIsTold(t *testing.T) {
	w := newWriter(t, 7)
	l := &Local{log: slog.New(slog.DiscardHandler), spool: filepath.Join(t.TempDir(), "spool")}
	r := &remote{bytes: map[string][]byte{}, most: 300_000}
	w.transaction(200)
	ok(t, pass(t, l, w, r, 1000))
	ask := func(silence time.Duration, ago time.Duration) *Piece {
		k := r.kept()
		k.Logs[0].Last.Checked -= int64(ago / time.Second)
		got, err := l.SpoolBinlogs(t.Context(), Spooling{Instance: w.instance(), Index: w.index(), Key: testKey, Most: 40_000, Kept: &k, Silence: silence})
		ok(t, err)
		return got.Next
	}
	if p := ask(0, time.Minute); p == nil || p.From != p.To || p.Checked < time.Now().Unix()-30 {
		t.Errorf("a minute ago: %+v", p)
	}
	if p := ask(2*time.Minute, time.Minute); p != nil {
		t.Errorf("a minute ago, wanted every two: %+v", p)
	}
	if p := ask(2*time.Minute, 3*time.Minute); p == nil {
		t.Error("three minutes ago, wanted every two: nothing")
	}
	if p := ask(0, -time.Second); p != nil {
		t.Errorf("just now: %+v", p)
	}
}

// beside is an instance in a directory of its own, beside which logs are laid.
func beside(t *testing.T) Instance {
	dir := t.TempDir()
	return Instance{Name: "r", Config: filepath.Join(dir, "my.cnf"), Datadir: filepath.Join(dir, "data")}
}
