// Package heard keeps what a process has said, for tests that read it while the
// process goes on.
package heard

import (
	"bytes"
	"sync"
)

// Log is the output of a process so far. Its zero value is empty; it may be
// written and read by several goroutines.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of it so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
