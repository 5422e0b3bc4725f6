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
	TLS       *tls.Config // for a cluster of one's own, or our own with Certificates; nil: plain text, fit for loopback only
	// Listen is where our own engine listens, "10.0.0.5:7233"; "": a free port of 127.0.0.1. Other addresses than loopback need
	// Certificates.
	Listen       string
	Certificates Certificates
	Grace        time.Duration // how long a stopping worker lets running steps finish; 0: 30 s
	Log          *slog.Logger  // nil: silent
}

// Certificates are files that make our own engine demand a certificate of everybody who connects.
type Certificates struct {
	Cert, Key, CA string
}

func (c Certificates) flags() []string {
	if c == (Certificates{}) {
		return nil
	}
	return []string{"--tls-cert", c.Cert, "--tls-key", c.Key, "--tls-ca", c.CA}
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = "stowage"
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
