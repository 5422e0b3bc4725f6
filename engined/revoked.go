package main

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"sync"
	"time"
)

// revoked are the numbers of certificates that are refused though the authority has signed them: one in hexadecimal digits a line,
// "#" begins a comment. The file is read again when it has changed; one that is missing revokes nothing; while one
// cannot be read, or has a line that means nothing, nobody is let in, as with agents.
type revoked struct {
	path string

	mu      sync.Mutex
	looked  time.Time
	changed time.Time
	size    int64
	numbers map[string]bool
	broken  bool
}

// lookAgain is how long an answer about the file holds. Every call of a host asks.
const lookAgain = time.Second

// has reports whether a certificate is revoked.
func (r *revoked) has(c *x509.Certificate) bool {
	if r.path == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.looked) > lookAgain {
		r.broken = r.readLocked() != nil
	}
	return r.broken || r.numbers[c.SerialNumber.Text(16)]
}

// read is for the start: a file with a line that means nothing is a mistake that somebody has to hear of.
func (r *revoked) read() error {
	if r.path == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readLocked()
}

func (r *revoked) readLocked() error {
	r.looked = time.Now()
	about, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		r.numbers, r.changed = nil, time.Time{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read revoked certificates: %w", err)
	}
	if about.ModTime().Equal(r.changed) && about.Size() == r.size {
		return nil
	}
	raw, err := os.ReadFile(r.path)
	if err != nil {
		return fmt.Errorf("read revoked certificates: %w", err)
	}
	numbers, err := parseRevoked(raw)
	if err != nil {
		return fmt.Errorf("read revoked certificates %s: %w", r.path, err)
	}
	r.numbers, r.changed, r.size = numbers, about.ModTime(), about.Size()
	return nil
}

func parseRevoked(raw []byte) (map[string]bool, error) {
	numbers := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(strings.ReplaceAll(text, ":", "")); text == "" {
			continue
		}
		serial, ok := new(big.Int).SetString(text, 16)
		if !ok {
			return nil, fmt.Errorf("line %d: %q is not a serial number in hexadecimal digits", n, text)
		}
		numbers[serial.Text(16)] = true
	}
	return numbers, lines.Err()
}
