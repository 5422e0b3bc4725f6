package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// entry is one acknowledged write. On disk it is one line of six fields
// separated by tabs: client, shard, seq, side, address, unix nanoseconds of
// the acknowledgement. The time stands last: a line cut inside it is still
// whole in everything that is checked.
type entry struct {
	client  string
	shard   farm.ShardName
	seq     int64
	side    farm.SideName
	address string
	at      time.Time
}

// ledger is the append-only file of one client.
type ledger struct {
	file   *os.File
	ragged bool // the last write may have left a partial line
}

func ledgerPath(dir, client string) string { return filepath.Join(dir, "ledger", client+".tsv") }

// openLedger opens a client's ledger and gives the highest seq it holds for
// each shard and the number of torn lines.
func openLedger(dir, client string) (l *ledger, last map[farm.ShardName]int64, torn int64, err error) {
	path := ledgerPath(dir, client)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, 0, fmt.Errorf("open ledger: %w", err)
	}
	last = map[farm.ShardName]int64{}
	ragged := false
	torn, err = readLedger(path, func(e entry) { last[e.shard] = max(last[e.shard], e.seq) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, 0, err
	}
	if err == nil {
		if ragged, err = endsRagged(path); err != nil {
			return nil, nil, 0, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("open ledger: %w", err)
	}
	return &ledger{file: f, ragged: ragged}, last, torn, nil
}

// append records one write with one write(2), so that a killed process leaves
// whole lines. No fsync: the ledger is there to survive the program, not the
// machine.
func (l *ledger) append(e entry) error {
	line := make([]byte, 0, 128)
	if l.ragged {
		line = append(line, '\n')
	}
	line = fmt.Appendf(line, "%s\t%s\t%d\t%s\t%s\t%d\n", e.client, e.shard, e.seq, e.side, e.address, e.at.UnixNano())
	_, err := l.file.Write(line)
	l.ragged = err != nil
	return err
}

func (l *ledger) close() error { return l.file.Close() }

// readLedger calls each for every whole line and counts the others.
func readLedger(path string, each func(entry)) (torn int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		e, ok := parseEntry(lines.Text())
		if !ok {
			torn++
			continue
		}
		each(e)
	}
	if err := lines.Err(); err != nil {
		return torn, fmt.Errorf("read ledger %s: %w", path, err)
	}
	return torn, nil
}

func parseEntry(line string) (entry, bool) {
	f := strings.Split(line, "\t")
	if len(f) != 6 {
		return entry{}, false
	}
	seq, err1 := strconv.ParseInt(f[2], 10, 64)
	ns, err2 := strconv.ParseInt(f[5], 10, 64)
	if err1 != nil || err2 != nil || seq < 1 {
		return entry{}, false
	}
	return entry{client: f[0], shard: farm.ShardName(f[1]), seq: seq, side: farm.SideName(f[3]), address: f[4], at: time.Unix(0, ns)}, true
}

// endsRagged reports whether a file has bytes after its last newline.
func endsRagged(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false, err
	}
	end := make([]byte, 1)
	if _, err := f.ReadAt(end, st.Size()-1); err != nil {
		return false, fmt.Errorf("read ledger %s: %w", path, err)
	}
	return !bytes.Equal(end, []byte("\n")), nil
}
