package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/bench/matrix"
	"stowage/farm"
)

// The keys of matrix.yaml, by level.
var (
	matrixKeys = []string{"directory", "loops", "devices", "profile", "steps", "runtime", "rounds", "baseline", "axes", "exclude", "cells"}
	loopKeys   = []string{"count", "size"}
	axisKeys   = []string{"filesystem", "mkfs", "mount", "queue", "raid", "size"}
	cellKeys   = []string{"name", "filesystem", "mkfs", "mount", "queue", "raid", "size"}
)

// defaultRounds are as many as an interval needs.
const defaultRounds = 3

// matrixReader reads matrix.yaml.
type matrixReader struct {
	reader
	m    matrix.Matrix
	step func(id string) error
}

// ReadMatrix reads a file that asks for a bench of many cells. A directory in it is relative to the file. step says whether a step is known: bench
// stands beside this package. All faults are reported at once; errors wrap farm.ErrInput.
func ReadMatrix(path string, step func(id string) error) (*matrix.Matrix, error) {
	src, err := read(path)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a matrix file; examples/storage-matrix has one to begin with"}
	}
	m, err := parseMatrix(path, src, step)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(m.Directory) {
		m.Directory = filepath.Join(filepath.Dir(path), m.Directory)
	}
	if m.Directory, err = filepath.Abs(m.Directory); err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: err}
	}
	return m, nil
}

func parseMatrix(file string, src []byte, step func(id string) error) (*matrix.Matrix, error) {
	r := &matrixReader{reader: reader{faults: faults{file: file}}, step: step}
	r.m.Profile, r.m.Rounds = "quick", defaultRounds
	root := r.parseYAML(src)
	if root == nil {
		return nil, r.err()
	}
	r.fields(root, func() string { return "the matrix" }, matrixKeys, r.key)
	for i := range r.m.Named { // wherever the axes stand in the file
		if c := &r.m.Named[i]; c.Size == 0 && len(r.m.Axes.Size) > 0 {
			c.Size = r.m.Axes.Size[0]
		}
	}
	if len(r.list) == 0 { // what cells come to is a consequence of every key
		r.checked(root, r.m.Check())
	}
	return &r.m, r.err()
}

func (r *matrixReader) key(key string, v *yaml.Node) bool {
	what := func() string { return key }
	m := &r.m
	switch key {
	case "directory":
		m.Directory = r.text(v, what)
	case "loops":
		r.loops(v)
	case "devices":
		m.Devices = r.words(v, key)
	case "profile":
		if m.Profile = r.text(v, what); m.Profile != "quick" && m.Profile != "full" {
			r.fault(v, "unknown profile %q; the profiles are quick and full", m.Profile)
		}
	case "steps":
		m.Steps = r.steps(v)
	case "runtime":
		if m.Runtime = r.duration(v, key); m.Runtime < 200*time.Millisecond && !r.bad[v] {
			r.fault(v, "runtime is 200ms or more")
		}
	case "rounds":
		m.Rounds = int(r.whole(v, what, 1, 100))
	case "baseline":
		m.Baseline = r.text(v, what)
	case "axes":
		r.axes(v)
	case "exclude":
		for _, n := range r.items(v, key) {
			m.Exclude = append(m.Exclude, r.pattern(n))
		}
	case "cells":
		for _, n := range r.items(v, key) {
			m.Named = append(m.Named, r.cell(n))
		}
	default:
		return false
	}
	return true
}

func (r *matrixReader) loops(n *yaml.Node) {
	l := &r.m.Loops
	r.fields(n, func() string { return "loops" }, loopKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of loops" }
		switch key {
		case "count":
			l.Count = int(r.whole(v, what, 1, 16))
		case "size":
			if l.Size = int64(r.quantity(v, what, farm.KindBytes)); l.Size < matrix.LeastLoop && !r.bad[v] {
				r.fault(v, "size of loops is 320MiB or more: mkfs.xfs wants that much")
			}
		default:
			return false
		}
		return true
	})
	if l.Count == 0 && !r.bad[n] && n.Kind == yaml.MappingNode && value(n, "count") == nil {
		l.Count = 1
	}
	if n.Kind == yaml.MappingNode && value(n, "size") == nil && !r.meant[missing{n, "size"}] {
		r.fault(n, "how large the loops are is not said: size of loops is missing")
	}
	l.Size = l.Size >> 20 << 20
}

func (r *matrixReader) steps(n *yaml.Node) []string {
	var out []string
	for _, item := range r.items(n, "steps") {
		id := r.text(item, func() string { return "an entry of steps" })
		if err := r.step(id); err != nil && id != "" {
			text := err.Error()
			if hint := farm.Hint(err); hint != "" {
				text = fmt.Sprintf("no step %q: %s", id, hint)
			}
			r.fault(item, "%s", text)
		}
		out = append(out, id)
	}
	return out
}

func (r *matrixReader) axes(n *yaml.Node) {
	a := &r.m.Axes
	r.fields(n, func() string { return "axes" }, axisKeys, func(key string, v *yaml.Node) bool {
		what := "axis " + key
		switch key {
		case "filesystem":
			a.Filesystem = r.oneOrMore(v, what)
		case "raid":
			a.RAID = r.oneOrMore(v, what)
		case "mkfs":
			a.Mkfs = r.options(v, what)
		case "mount":
			a.Mount = r.options(v, what)
		case "queue":
			for _, q := range r.items(v, what) {
				a.Queue = append(a.Queue, r.queue(q, what))
			}
		case "size":
			for _, q := range r.oneOrMoreNodes(v) {
				a.Size = append(a.Size, r.size(q, what))
			}
		default:
			return false
		}
		return true
	})
}

// oneOrMoreNodes are the entries of a list, or the one value that stands for a list.
func (r *matrixReader) oneOrMoreNodes(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

func (r *matrixReader) size(n *yaml.Node, what string) int64 {
	return int64(r.quantity(n, func() string { return what }, farm.KindBytes)) >> 20 << 20
}

// options are a list for all file systems, or a list for each.
func (r *matrixReader) options(n *yaml.Node, what string) matrix.Options {
	out := matrix.Options{}
	if n.Kind != yaml.MappingNode {
		out[""] = r.optionList(n, what)
		return out
	}
	r.named(n, what, func(fs string, v *yaml.Node) { out[fs] = r.optionList(v, what+" of "+fs) })
	return out
}

func (r *matrixReader) optionList(n *yaml.Node, what string) []string {
	var out []string
	for _, item := range r.oneOrMoreNodes(n) {
		out = append(out, r.option(item, "an entry of "+what))
	}
	return out
}

// option is a text of options; an empty one says that there are none.
func (r *matrixReader) option(n *yaml.Node, what string) string {
	text := strings.TrimSpace(r.text(n, func() string { return what }))
	if text == "" {
		return matrix.NoOptions
	}
	return text
}

func (r *matrixReader) queue(n *yaml.Node, what string) matrix.Queue {
	if n.Kind == yaml.ScalarNode && n.Value == matrix.NoOptions {
		return nil
	}
	q := matrix.Queue{}
	r.named(n, "an entry of "+what, func(name string, v *yaml.Node) {
		q[name] = r.text(v, func() string { return name + " of " + what })
	})
	return q
}

func (r *matrixReader) pattern(n *yaml.Node) matrix.Pattern {
	var p matrix.Pattern
	where := func() string { return "an entry of exclude" }
	r.fields(n, where, axisKeys, func(key string, v *yaml.Node) bool {
		what := key + " of exclude"
		switch key {
		case "filesystem":
			p.Filesystem = r.text(v, func() string { return what })
		case "raid":
			p.RAID = r.text(v, func() string { return what })
		case "mkfs":
			p.Mkfs = r.option(v, what)
		case "mount":
			p.Mount = r.option(v, what)
		case "queue":
			p.Queue = r.queue(v, what)
		case "size":
			p.Size = r.size(v, what)
		default:
			return false
		}
		return true
	})
	return p
}

// cell is one that is written out, beside those of the axes.
func (r *matrixReader) cell(n *yaml.Node) matrix.Cell {
	c := matrix.Cell{Mkfs: matrix.NoOptions, Mount: matrix.NoOptions, RAID: matrix.Single}
	r.fields(n, func() string { return "a cell" }, cellKeys, func(key string, v *yaml.Node) bool {
		what := key + " of a cell"
		switch key {
		case "name":
			c.Name = strings.TrimSpace(r.text(v, func() string { return what }))
		case "filesystem":
			c.Filesystem = r.text(v, func() string { return what })
		case "raid":
			c.RAID = r.text(v, func() string { return what })
		case "mkfs":
			c.Mkfs = r.option(v, what)
		case "mount":
			c.Mount = r.option(v, what)
		case "queue":
			c.Queue = r.queue(v, what)
		case "size":
			c.Size = r.size(v, what)
		default:
			return false
		}
		return true
	})
	return c
}
