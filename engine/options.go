package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Options serve both Start (Binary, DB, Dir) and Dial (TLS, Grace); the rest is for both.
type Options struct {
	Binary    string      // path of stowage-engine; "": beside this program, then in PATH
	Dir       string      // where engine.db and engine.log live; created when missing
	DB        string      // the engine's SQLite file; "": Dir/engine.db
	Namespace string      // "": "stowage"
	TLS       *tls.Config // for a cluster of one's own, or our own with Certificates; for our own without them see Server.TLS
	// KeyFile holds the key that seals jobs, made when there is none; "": Dir/engine.key. A client without both makes and answers
	// calls, which are sealed by others, and can neither run nor serve jobs.
	KeyFile string
	// Listen is where our own engine listens, "10.0.0.5:7233"; "": a free port of 127.0.0.1. Who dials it from another process
	// needs Certificates.
	Listen       string
	Certificates Certificates
	// Queue is where the workflows of this client's jobs, and the steps that name no queue, wait for whoever serves it; "": DefaultQueue.
	// Programs that share an engine have each its own.
	Queue string
	Grace time.Duration // how long a stopping worker lets running steps finish; 0: 30 s
	Log   *slog.Logger  // nil: silent

	run *runCertificates // made by Start when there are no Certificates
}

// Certificates are files of certificates that last longer than one run: the engine's own, and the authority of all who may connect.
// Without them the engine is for this process alone.
type Certificates struct {
	Cert, Key, CA string
	Revoked       string // file of serial numbers that are refused; it may be missing
}

func (c Certificates) flags() []string {
	if c == (Certificates{}) {
		return nil
	}
	flags := []string{"--tls-cert", c.Cert, "--tls-key", c.Key, "--tls-ca", c.CA}
	if c.Revoked != "" {
		flags = append(flags, "--tls-revoked", c.Revoked)
	}
	return flags
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = "stowage"
	}
	if o.Queue == "" {
		o.Queue = DefaultQueue
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.KeyFile == "" && o.Dir != "" {
		o.KeyFile = filepath.Join(o.Dir, "engine.key")
	}
	if o.DB == "" {
		o.DB = filepath.Join(o.Dir, "engine.db")
	}
	return o
}

// ErrNoBinary: stowage-engine is nowhere.
var ErrNoBinary = errors.New("neither beside this program nor in PATH")

// findBinary resolves Options.Binary.
func (o Options) findBinary() (string, error) {
	const name = "stowage-engine"
	if o.Binary != "" {
		return o.Binary, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("find %s: %w", name, ErrNoBinary)
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return path, nil
}

// Binary is where stowage-engine is found: beside this program, or in PATH.
func Binary() (string, error) { return Options{}.findBinary() }
