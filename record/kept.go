package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/mysql"
	"stowage/workspace"
)

// kept is what a Station remembers of an order. It is on the disk before the
// order is carried out, and holds no login.
type kept struct {
	Version  int               `json:"format_version"`
	ID       string            `json:"id"`
	Instance farm.InstanceName `json:"instance"`
	Address  string            `json:"address"`
	From     From              `json:"from"`
	Began    time.Time         `json:"began"`
	Counts   digest.Options    `json:"counts"` // how events become classes
	Ended    bool              `json:"ended"`
	Taken    bool              `json:"taken,omitempty"` // whoever ordered it has it; only the ID is still known
	Outcome  Outcome           `json:"outcome,omitzero"`
}

const (
	keptVersion = 1
	// keptFor is how long what nobody takes is kept.
	keptFor = 30 * 24 * time.Hour
	// chunk is what one reading of a digest brings: with everything around it,
	// it has to fit into one message of the engine.
	chunk = 1 << 20
)

func (s *Station) keptPath(id string) string   { return filepath.Join(s.outcomes(), id+".json") }
func (s *Station) digestPath(id string) string { return filepath.Join(s.outcomes(), id+".digest") }

func (s *Station) loginPath(n farm.InstanceName) string {
	return filepath.Join(s.Dir, string(n)+".login")
}

// begin puts on the disk what the next agent needs should this one be killed:
// that the order was begun, and how to get into the server to put it back.
func (s *Station) begin(k kept, login mysql.Account) error {
	if err := s.keep(k); err != nil {
		return err
	}
	if k.From == FromNetwork {
		return nil // the server is not touched
	}
	return writeJSON(s.loginPath(k.Instance), login)
}

func (s *Station) keep(k kept) error {
	if err := os.MkdirAll(s.outcomes(), 0o700); err != nil {
		return &farm.Error{Op: "keep order to record", Subject: string(k.Instance), Err: err}
	}
	return writeJSON(s.keptPath(k.ID), k)
}

// writeJSON replaces a file that only its owner may read.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = workspace.WriteFileAtomic(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return &farm.Error{Op: "write", Subject: path, Err: err}
	}
	return nil
}

// readJSON reads it; fs.ErrNotExist when it is not there.
func readJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err == nil {
		err = nested.Unmarshal(raw, v)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "read", Subject: path, Err: err}
	}
	return err
}

func (s *Station) readKept(id string) (k kept, err error) {
	if err = readJSON(s.keptPath(id), &k); err == nil && (k.Version != keptVersion || k.ID != id) {
		err = &farm.Error{Op: "read", Subject: s.keptPath(id), Err: fmt.Errorf("%w: it is of another version", farm.ErrInput)}
	}
	return k, err
}

// allKept are the orders that are remembered; what cannot be read is left out.
func (s *Station) allKept() []kept {
	entries, _ := os.ReadDir(s.outcomes()) // not there: none
	var out []kept
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".json")
		if !is || strings.HasPrefix(id, ".") {
			continue
		}
		if k, err := s.readKept(id); err == nil {
			out = append(out, k)
		}
	}
	return out
}

func (s *Station) keepDigest(id string, d *digest.Digest) (int64, error) {
	n, err := writeDigest(s.digestPath(id), d)
	for _, part := range s.parts(id) { // it is in the whole
		err = errors.Join(err, removed(part.path))
	}
	return n, err
}

func writeDigest(path string, d *digest.Digest) (int64, error) {
	var b strings.Builder
	err := d.Encode(&b)
	if err == nil {
		err = workspace.WriteFileAtomic(path, []byte(b.String()), 0o600)
	}
	if err != nil {
		return 0, &farm.Error{Op: "keep digest", Subject: path, Err: err}
	}
	return int64(b.Len()), nil
}

// writeSum is writeDigest with a number in front, which says how many files of a log are in it.
func writeSum(path string, n int, d *digest.Digest) error {
	var b strings.Builder
	fmt.Fprintln(&b, n)
	err := d.Encode(&b)
	if err == nil {
		err = workspace.WriteFileAtomic(path, []byte(b.String()), 0o600)
	}
	if err != nil {
		return &farm.Error{Op: "keep digest", Subject: path, Err: err}
	}
	return nil
}

func readSum(path string) (sum keptSum, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return sum, err
	}
	number, rest, _ := strings.Cut(string(raw), "\n")
	if sum.n, err = strconv.Atoi(number); err == nil {
		sum.d, err = digest.Decode(strings.NewReader(rest))
	}
	if err != nil {
		return sum, fmt.Errorf("read %s: %w", path, err)
	}
	return sum, nil
}

func readDigest(path string) (*digest.Digest, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return digest.Decode(file)
}

// Read is a part of the digest of a recording, from offset on; nothing at its
// end.
func (s *Station) Read(id string, offset int64) ([]byte, error) {
	if !safeName().MatchString(id) {
		return nil, &farm.Error{Op: "read digest", Err: fmt.Errorf("%w: %q is not a recording", farm.ErrRefused, id)}
	}
	file, err := os.Open(s.digestPath(id))
	if err != nil {
		return nil, &farm.Error{Op: "read digest", Subject: id, Err: err}
	}
	defer file.Close()
	part := make([]byte, chunk)
	n, err := file.ReadAt(part, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &farm.Error{Op: "read digest", Subject: id, Err: err}
	}
	return part[:n], nil
}

// Forget drops what was recorded: whoever ordered it has it. That it was is
// remembered, for a call that was on its way for long.
func (s *Station) Forget(id string) error {
	if !safeName().MatchString(id) {
		return nil
	}
	k, err := s.readKept(id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !k.Ended {
		return nil
	}
	if err == nil {
		k.Taken, k.Outcome = true, Outcome{}
		err = s.keep(k)
	}
	return errors.Join(err, removed(s.digestPath(id)))
}

// sweep drops what nobody has taken for long.
func (s *Station) sweep(now time.Time) {
	for _, k := range s.allKept() {
		if !k.Ended || now.Sub(k.Began) < keptFor {
			continue
		}
		if err := errors.Join(removed(s.digestPath(k.ID)), removed(s.keptPath(k.ID))); err != nil {
			s.Log.Warn("an old recording cannot be removed", "id", k.ID, "error", err)
		}
	}
}

func (s *Station) dropLogin(n farm.InstanceName) error { return removed(s.loginPath(n)) }

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
