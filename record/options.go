package record

import (
	"fmt"
	"path/filepath"
	"time"

	"stowage/digest"
	"stowage/farm"
)

// Options say how long to record and when to stop before that.
type Options struct {
	For        time.Duration // length of the window
	MaxBytes   int64         // of log, or of packets, of one instance
	PieceBytes int64         // a file of the log that is larger is finished, digested and removed while the next is written
	Reserve    int64         // to stay free on the file system of the log
	MaxRunning int           // Threads_running beyond which a recording stops; 0: not watched
	MaxLag     time.Duration // of replication, likewise
	Sample     int           // > 1: every Nth statement, where the server can
	LogDir     string        // where the log lies; empty: where the server's slow log lies
	Keep       string        // file that packets are kept in; from the network only
	Digest     digest.Options
}

// Defaults are a minute, with bounds that a busy server stays within.
func Defaults() Options {
	return Options{
		For: time.Minute, MaxBytes: 2 << 30, PieceBytes: 256 << 20, Reserve: 1 << 30,
		// A server with more than a hundred statements at work is not one to add anything to.
		MaxRunning: 100, MaxLag: 30 * time.Second,
	}
}

// Check says what is wrong with the options; the error wraps farm.ErrInput.
func (o Options) Check() error {
	fault := ""
	switch {
	case o.For <= 0:
		fault = "the window has no length"
	case o.MaxBytes <= 0 || o.PieceBytes <= 0:
		fault = "a bound of bytes must be more than nothing"
	case o.Reserve < 0 || o.MaxRunning < 0 || o.MaxLag < 0 || o.Sample < 0:
		fault = "a limit is less than nothing"
	case o.LogDir != "" && !filepath.IsAbs(o.LogDir):
		fault = "the directory of the log must be an absolute path: the server has another working directory"
	default:
		if err := o.Digest.Check(); err != nil {
			fault = err.Error()
		}
	}
	if fault == "" {
		return nil
	}
	return &farm.Error{Op: "record", Err: fmt.Errorf("%w: %s", farm.ErrInput, fault)}
}

// look is how often a window looks at its file and the room around it: a log
// that grows by 200 MB a second gains 40 MB meanwhile.
const look = 200 * time.Millisecond
