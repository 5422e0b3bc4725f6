package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// Options of a demo farm.
type Options struct {
	Dir string
	// Topology of the pairs; empty is active-active.
	Topology farm.Topology `json:",omitempty"`
	Pairs    int           // as many old hosts as their sides are
	Shards   int           // logical shards of each pair
	Hosts    int           // new, dense hosts to pack onto
	Rows     int           // listings seeded in each shard
	Port     int           `json:",omitempty"` // of every server; 0 is DefaultPort
	// Tell is told what is being done.
	Tell func(text string) `json:"-"`
}

// Defaults are the options of `stowage demo`.
func Defaults() Options {
	return Options{Dir: defaultDir(), Pairs: 12, Shards: 4, Hosts: 6, Rows: 200, Port: DefaultPort}
}

// defaultDir lies where nobody else can write: what comes first in a directory
// that everybody may write to, under a name that everybody knows, is not ours.
// The servers' account must get into root's, which its home does not let it.
func defaultDir() string {
	const name = "stowage-demo"
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib", name)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", name)
	}
	return name
}

// sides of each pair.
func (o Options) sides() []farm.SideName { return o.topology().Sides() }

func (o Options) topology() farm.Topology {
	if o.Topology == "" {
		return farm.ActiveActive
	}
	return o.Topology
}

func (o Options) port() int {
	if o.Port == 0 {
		return DefaultPort
	}
	return o.Port
}

// Instances is how many servers run at first.
func (o Options) Instances() int { return o.Pairs * len(o.sides()) }

// Check reports options no farm can be made of.
func (o Options) Check() error {
	bad := func(format string, args ...any) error {
		return &farm.Error{Op: "read options", Err: fmt.Errorf("%w: %s", farm.ErrInput, fmt.Sprintf(format, args...))}
	}
	switch {
	case o.topology() != farm.ActiveActive && !o.topology().HasOneWriter():
		return bad("--topology is %s, want %s, %s or %s", o.Topology, farm.ActiveActive, farm.PrimaryReplica, farm.Single)
	case o.Pairs < 1 || o.Pairs > 500:
		return bad("--pairs is %d, want 1 to 500", o.Pairs)
	case o.Shards < 1 || o.Shards > 500:
		return bad("--shards is %d, want 1 to 500", o.Shards)
	case o.Hosts < len(o.sides()):
		return bad("--hosts is %d, want at least 2: the two sides of a pair need different hosts", o.Hosts)
	case o.port() < lowestPort || o.port() > highestPort:
		return bad("--port-base is %d, want %d to %d", o.Port, lowestPort, highestPort)
	case o.Hosts > o.Instances():
		return bad("--hosts is %d, more than the %s there are", o.Hosts, farm.Counted(o.Instances(), "instance"))
	}
	return nil
}

// state is the mark in the demo's directory.
type state struct {
	Options Options `json:"options"`
	Block   int     `json:"block"` // hosts are 127.0.Block.x and up
	Down    bool    `json:"down"`
}

const markFile = "demo.json"

func readState(dir string) (state, error) {
	var s state
	raw, err := safefile.ReadInput(filepath.Join(dir, markFile), 1<<20)
	if err != nil {
		return s, err
	}
	if err := nested.Unmarshal(raw, &s); err != nil {
		return s, &farm.Error{Op: "read", Subject: filepath.Join(dir, markFile), Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return s, nil
}

func (s state) write(dir string) error {
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, markFile), append(raw, '\n'), 0o644); err != nil {
		return &farm.Error{Op: "mark directory", Subject: dir, Err: err}
	}
	return nil
}

// vacant makes sure that dir may be filled: it is new, empty, or what a demo
// that was taken down has left.
func vacant(dir string) error {
	s, err := readState(dir)
	switch {
	case err == nil && !s.Down:
		return &farm.Error{Op: "make farm", Subject: dir, Err: fmt.Errorf("%w: the directory holds a demo farm", farm.ErrRefused),
			Hint: "take it down first: stowage demo down --dir " + dir}
	case err == nil:
		return clear(dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &farm.Error{Op: "make farm", Subject: dir, Err: err}
	}
	if len(entries) > 0 {
		return &farm.Error{Op: "make farm", Subject: dir, Err: fmt.Errorf("%w: the directory is not empty and is not a demo's", farm.ErrRefused),
			Hint: "choose another with --dir"}
	}
	return nil
}

// made are the names a demo makes in its directory; clear removes these and
// nothing else.
var made = []string{"farm.yaml", "goals.yaml", "measured.json", "accounts.cnf", "routing.json", "routing.json.lock", "plans", "hosts",
	"template", "load", "report.html", ".stowage", markFile}

func clear(dir string) error {
	for _, name := range made {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return &farm.Error{Op: "clear", Subject: dir, Err: err}
		}
	}
	return nil
}
