package flame

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Frame is a function and the program or library it is in. Unnamed is a function without a symbol.
type Frame struct{ Name, Module string }

// Unnamed is what a function without a symbol is called.
const Unnamed = "[unknown]"

// IsKernel reports whether the frame is one of the kernel.
func (f Frame) IsKernel() bool { return f.Module == "kernel" }

// deepest is how many frames of a stack are kept; a server has some 60.
const deepest = 256

// Graph is samples, added up by their stacks.
type Graph struct {
	Samples int
	root    node
}

// node is a frame below its callers.
type node struct {
	frame    Frame
	samples  int // here and below
	self     int // that end here
	children []*node
}

func (n *node) child(f Frame) *node {
	for _, c := range n.children {
		if c.frame == f {
			return c
		}
	}
	c := &node{frame: f}
	n.children = append(n.children, c)
	return c
}

// add counts a stack, the outermost frame first.
func (g *Graph) add(stack []Frame) {
	g.Samples++
	g.root.samples++
	at := &g.root
	for _, f := range stack {
		at = at.child(f)
		at.samples++
	}
	at.self++
}

// Parse reads what perf script -F comm,ip,sym,dso prints: for each sample a line with the name of the thread, the frames, innermost first, and an empty
// line.
func Parse(r io.Reader) (*Graph, error) {
	g := &Graph{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	var thread string
	var frames []Frame
	finish := func() {
		if thread != "" {
			slices.Reverse(frames)
			g.add(append([]Frame{{Name: thread, Module: "thread"}}, frames...))
		}
		thread, frames = "", nil
	}
	line := 0
	for in.Scan() {
		line++
		text := in.Text()
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "":
			finish()
		case text[0] != ' ' && text[0] != '\t':
			finish()
			thread = trimmed
		case thread == "":
			return nil, fmt.Errorf("line %d: a frame without a thread: %.80q", line, trimmed)
		case len(frames) < deepest:
			f, err := frameOf(trimmed)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			frames = append(frames, f)
		}
	}
	finish()
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	return g, nil
}

// frameOf reads "48d1e row_search_mvcc(unsigned char*, ...) (/usr/sbin/mariadbd)".
func frameOf(text string) (Frame, error) {
	_, rest, ok := strings.Cut(text, " ")
	at := strings.LastIndex(rest, " (")
	if !ok || at < 0 || !strings.HasSuffix(rest, ")") {
		return Frame{}, fmt.Errorf("no frame of perf script: %.80q", text)
	}
	name, module := strings.TrimSpace(rest[:at]), strings.TrimSuffix(rest[at+2:], ")")
	switch {
	case strings.HasPrefix(module, "[kernel") || strings.HasSuffix(module, ".ko") || strings.HasPrefix(module, "[guest.kernel"):
		module = "kernel"
	case strings.HasPrefix(module, "["):
	default:
		module = path.Base(module)
	}
	if name = bare(name); name == "" {
		name = Unnamed
	}
	return Frame{name, module}, nil
}

// bare is a name of C++ without its arguments: they are longer than any frame.
func bare(name string) string {
	if strings.HasPrefix(name, "operator(") || strings.Contains(name, "::operator(") {
		return name
	}
	depth := 0
	for i, c := range name {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth <= 0 && i > 0 && !strings.HasPrefix(name[i:], "(anonymous") {
				return strings.TrimSpace(name[:i])
			}
		}
	}
	return name
}

// Share is a part of the samples.
type Share struct {
	Name    string  `json:"name"`
	Module  string  `json:"module,omitempty"`
	Samples int     `json:"samples"`
	Part    float64 `json:"part"`
}

// Functions are where the samples ended, the most first: the processor was there itself, not in what they called.
func (g *Graph) Functions() []Share {
	return g.shares(func(n *node) (Frame, bool) { return n.frame, n.self > 0 })
}

// Modules are the programs and libraries in which the samples ended.
func (g *Graph) Modules() []Share {
	return g.shares(func(n *node) (Frame, bool) { return Frame{Name: n.frame.Module}, n.self > 0 })
}

// Unnamed is the part of the samples that ended in a function without a symbol.
func (g *Graph) Unnamed() float64 {
	sum := 0.0
	for _, s := range g.Functions() {
		if s.Name == Unnamed {
			sum += s.Part
		}
	}
	return sum
}

func (g *Graph) shares(of func(*node) (Frame, bool)) []Share {
	sums := map[Frame]int{}
	var walk func(*node)
	walk = func(n *node) {
		if f, ok := of(n); ok {
			sums[f] += n.self
		}
		for _, c := range n.children {
			walk(c)
		}
	}
	for _, c := range g.root.children {
		walk(c)
	}
	out := make([]Share, 0, len(sums))
	for f, n := range sums {
		out = append(out, Share{f.Name, f.Module, n, float64(n) / float64(g.Samples)})
	}
	slices.SortFunc(out, func(a, b Share) int {
		if a.Samples != b.Samples {
			return b.Samples - a.Samples
		}
		return strings.Compare(a.Module+a.Name, b.Module+b.Name)
	})
	return out
}
