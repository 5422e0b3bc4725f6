package workspace

import (
	"bytes"
	"strings"

	"stowage/farm"
)

// FarmNames are the names of farm.yaml, for a shell that completes one of them:
// a farm with hosts and their types, and with pairs, their sides and shards, and
// nothing else in it. A file of up to small bytes is parsed as Farm does; a
// larger one is read line by line, which takes a hundredth of the time and finds
// what is laid out as Stowage writes it: an item of a list begins a line, with
// its name in that line. What it does not understand it leaves out; it checks
// nothing.
func (w *Workspace) FarmNames(small int) (*farm.Farm, error) {
	src, err := read(w.Path(farmFile))
	if err != nil {
		return nil, err
	}
	if len(src) <= small {
		f, _, err := parseFarm(farmFile, src)
		return f, err
	}
	return scanNames(src), nil
}

// nameScan is how far a scan has come.
type nameScan struct {
	farm    farm.Farm
	section string // the key at the left margin
	item    int    // the indent of this section's first key or item; -1: none has come
	part    string // of a pair: sides or shards
	partAt  int    // the indent of that key
	side    farm.SideName
}

func scanNames(src []byte) *farm.Farm {
	s := nameScan{item: -1}
	for line := range bytes.Lines(src) {
		text := bytes.TrimLeft(line, " ")
		if t := bytes.TrimSpace(text); len(t) > 0 && t[0] != '#' {
			s.line(len(line)-len(text), string(t))
		}
	}
	return &s.farm
}

// line takes one that is not empty.
func (s *nameScan) line(indent int, text string) {
	isItem := text == "-" || strings.HasPrefix(text, "- ")
	if indent == 0 && !isItem {
		s.section, _, _ = strings.Cut(text, ":")
		s.item = -1
		return
	}
	if s.item < 0 {
		s.item = indent
	}
	text = strings.TrimSpace(strings.TrimPrefix(text, "-"))
	switch s.section {
	case "host_types":
		if name, _, ok := strings.Cut(text, ":"); ok && indent == s.item {
			s.farm.HostTypes = append(s.farm.HostTypes, farm.HostType{Name: farm.HostTypeName(unquoted(name))})
		}
	case "hosts":
		if isItem && indent == s.item {
			s.farm.Hosts = append(s.farm.Hosts, farm.Host{})
		}
		if n := len(s.farm.Hosts); n > 0 {
			fill(&s.farm.Hosts[n-1].Name, text, "name")
			fill(&s.farm.Hosts[n-1].Type, text, "type")
		}
	case "pairs":
		s.pairLine(indent, text, isItem)
	}
}

// pairLine takes a line of pairs.
func (s *nameScan) pairLine(indent int, text string, isItem bool) {
	if isItem && indent == s.item {
		s.farm.Pairs = append(s.farm.Pairs, farm.Pair{Sides: map[farm.SideName]farm.Side{}})
		s.part = ""
	}
	if len(s.farm.Pairs) == 0 {
		return
	}
	p := &s.farm.Pairs[len(s.farm.Pairs)-1]
	key, _, _ := strings.Cut(text, ":")
	switch {
	case !isItem && (key == "sides" || key == "shards"):
		s.part, s.partAt = key, indent
	case s.part == "sides" && indent > s.partAt:
		if side := farm.SideName(unquoted(key)); side == farm.A || side == farm.B || side.IsReplica() {
			s.side = side
			p.Sides[side] = farm.Side{}
		}
		at := p.Sides[s.side]
		fill(&at.Host, text, "host")
		p.Sides[s.side] = at
	case s.part == "shards" && indent >= s.partAt:
		if isItem {
			p.Shards = append(p.Shards, farm.Shard{})
		}
		if n := len(p.Shards); n > 0 {
			fill(&p.Shards[n-1].Name, text, "name")
		}
	default:
		fill(&p.Name, text, "name")
		fill(&p.Topology, text, "topology")
	}
}

// fill takes the value of a key in a line, of a block ("name: x") or in braces
// ("{name: x, ..."), unless there is one already.
func fill[T ~string](to *T, text, key string) {
	if *to != "" {
		return
	}
	for rest := text; ; {
		before, after, found := strings.Cut(rest, key+":")
		if !found {
			return
		}
		if at := len(text) - len(rest) + len(before); at == 0 || strings.IndexByte("{, ", text[at-1]) >= 0 {
			if end := strings.IndexAny(after, ",}"); end >= 0 {
				after = after[:end]
			}
			after, _, _ = strings.Cut(after, " #")
			*to = T(unquoted(after))
			return
		}
		rest = after
	}
}

func unquoted(s string) string { return strings.Trim(strings.TrimSpace(s), `'"`) }
