package load

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"stowage/farm"
)

// kind of a query; the number is what is in the sample log.
type kind uint8

const (
	kindBegin kind = iota + 1
	kindCounter
	kindInsert
	kindUpdate
	kindCommit
	kindListing
	kindListings
	kindReceipt
	kindReadBack
	kindPause // not a query: how long a transaction waited because of a switch
)

var kindNames = map[kind]string{
	kindBegin:    "start transaction",
	kindCounter:  "select counter for update",
	kindInsert:   "insert receipt",
	kindUpdate:   "update counter",
	kindCommit:   "commit",
	kindListing:  "select listing by id",
	kindListings: "select listings of a user",
	kindReceipt:  "select last receipt",
	kindReadBack: "read back",
	kindPause:    "pause",
}

func (k kind) String() string { return kindNames[k] }

// sample is one query as its client saw it.
type sample struct {
	at     time.Time // sent
	micros uint32    // until answered
	gate   uint32    // micros its transaction had waited at the gate before
	kind   kind
	pair   uint16 // line of samples/pairs, from 0
}

// sampleSize: 8 bytes of unix micros, 4 + 4 of micros, 2 of pair, 1 of kind,
// 1 spare, little endian.
const sampleSize = 20

// sampleLog is the append-only file of one client's samples, buffered: the
// last quarter of a second may be lost with the process.
type sampleLog struct {
	mu   sync.Mutex
	file *os.File
	buf  *bufio.Writer
}

func openSamples(dir, client string) (*sampleLog, error) {
	path := filepath.Join(dir, "samples", client+".bin")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open samples: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open samples: %w", err)
	}
	// A killed process may have left part of a record: records must stay aligned.
	st, err := f.Stat()
	if err == nil {
		err = f.Truncate(st.Size() - st.Size()%sampleSize)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open samples: %w", err)
	}
	return &sampleLog{file: f, buf: bufio.NewWriterSize(f, 400*sampleSize)}, nil
}

func (l *sampleLog) add(s sample) {
	var rec [sampleSize]byte
	binary.LittleEndian.PutUint64(rec[0:], uint64(s.at.UnixMicro()))
	binary.LittleEndian.PutUint32(rec[8:], s.micros)
	binary.LittleEndian.PutUint32(rec[12:], s.gate)
	binary.LittleEndian.PutUint16(rec[16:], s.pair)
	rec[18] = byte(s.kind)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.buf.Write(rec[:]) // an error sticks and comes out of close
}

func (l *sampleLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.buf.Flush()
}

func (l *sampleLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.buf.Flush(), l.file.Close())
}

// Latency is the time of all clients' queries that were sent in [from, to),
// without waits at a gate. A running Load writes its samples every quarter of
// a second.
func Latency(dir string, from, to time.Time) (Distribution, error) {
	return distributionOf(dir, from, to, func(k kind) bool { return k != kindPause })
}

// Pauses is how long transactions wanted in [from, to) waited because of a
// switch: from the wish to the first answer. Only those that met a closed
// gate, were rolled back by the second look, had to connect anew or to run
// again count.
func Pauses(dir string, from, to time.Time) (Distribution, error) {
	return distributionOf(dir, from, to, func(k kind) bool { return k == kindPause })
}

// LatencyByKind is Latency for each kind of query, by its name.
func LatencyByKind(dir string, from, to time.Time) (map[string]Distribution, error) {
	byKind := map[kind][]uint32{}
	err := readSamples(dir, func(s sample) {
		if s.kind != kindPause && !s.at.Before(from) && s.at.Before(to) {
			byKind[s.kind] = append(byKind[s.kind], s.micros)
		}
	})
	out := map[string]Distribution{}
	for k, times := range byKind {
		out[k.String()] = distribute(times)
	}
	return out, err
}

func distributionOf(dir string, from, to time.Time, wanted func(kind) bool) (Distribution, error) {
	var times []uint32
	err := readSamples(dir, func(s sample) {
		if wanted(s.kind) && !s.at.Before(from) && s.at.Before(to) {
			times = append(times, s.micros)
		}
	})
	return distribute(times), err
}

// readSamples streams the samples of all clients.
func readSamples(dir string, each func(sample)) error {
	paths, err := filepath.Glob(filepath.Join(dir, "samples", "*.bin"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := readSampleFile(path, each); err != nil {
			return fmt.Errorf("read samples %s: %w", path, err)
		}
	}
	return nil
}

func readSampleFile(path string, each func(sample)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	var rec [sampleSize]byte
	for {
		_, err := io.ReadFull(in, rec[:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // a record still being written
		}
		if err != nil {
			return err
		}
		each(sample{
			at:     time.UnixMicro(int64(binary.LittleEndian.Uint64(rec[0:]))),
			micros: binary.LittleEndian.Uint32(rec[8:]),
			gate:   binary.LittleEndian.Uint32(rec[12:]),
			pair:   binary.LittleEndian.Uint16(rec[16:]),
			kind:   kind(rec[18]),
		})
	}
}

// numberPairs gives each pair its line in samples/pairs, adding what is new.
func numberPairs(dir string, pairs []farm.PairName) (map[farm.PairName]uint16, error) {
	path := filepath.Join(dir, "samples", "pairs")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("number pairs: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("number pairs: %w", err)
	}
	defer f.Close()
	numbers := map[farm.PairName]uint16{}
	lines := bufio.NewScanner(f)
	for n := uint16(0); lines.Scan(); n++ {
		numbers[farm.PairName(lines.Text())] = n
	}
	for _, p := range pairs {
		if _, ok := numbers[p]; ok {
			continue
		}
		numbers[p] = uint16(len(numbers))
		if _, err := fmt.Fprintln(f, p); err != nil {
			return nil, fmt.Errorf("number pairs: %w", err)
		}
	}
	return numbers, lines.Err()
}

// micros saturates at 71 minutes.
func micros(d time.Duration) uint32 {
	return uint32(min(max(d.Microseconds(), 0), math.MaxUint32))
}
