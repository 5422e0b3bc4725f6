package workspace

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// AddPair puts a further pair behind those there are. One that is there with
// the same sides stays as it is, with its shards.
func (e *Edit) AddPair(p farm.Pair) {
	if i := slices.IndexFunc(e.farm.Pairs, func(q farm.Pair) bool { return q.Name == p.Name }); i >= 0 {
		there := e.farm.Pairs[i]
		if there.Shards = p.Shards; !samePair(there, p) {
			e.fail("farm.yaml has another pair %s", p.Name)
		}
		return
	}
	if len(e.rows) > 0 {
		e.fail("one pair is added in one edit")
		return
	}
	e.farm.Pairs = append(e.farm.Pairs, p)
	e.shards = nil
	list, _, _ := follow(e.root, "pairs")
	w := &farmWriter{custom: e.custom}
	w.pair(p)
	e.rows = append(e.rows, func(s *source) ([]splice, error) { return s.appendRow(list, w.String()) })
}

// RemovePair takes a pair away that has no shards, with the comment lines right
// above it. One that is not there is fine.
func (e *Edit) RemovePair(name farm.PairName) {
	i := slices.IndexFunc(e.farm.Pairs, func(p farm.Pair) bool { return p.Name == name })
	switch {
	case i < 0:
		return
	case len(e.farm.Pairs[i].Shards) > 0:
		e.fail("pair %s has shards: move them elsewhere first", name)
		return
	case len(e.farm.Pairs) == 1:
		e.fail("pair %s is the only one", name)
		return
	case len(e.rows) > 0:
		e.fail("one pair is removed in one edit")
		return
	}
	row, _, _ := follow(e.root, fmt.Sprintf("pairs[%d]", i))
	e.farm.Pairs = slices.Delete(e.farm.Pairs, i, i+1)
	e.shards = nil
	e.rows = append(e.rows, func(s *source) ([]splice, error) {
		start, end, err := s.rowLines(row)
		if err != nil {
			return nil, err
		}
		return []splice{{s.withComments(start, dashColumn(s.text[start:])), end, ""}}, nil
	})
}

// appendRow writes a row behind the last of a list whose rows are on lines
// of their own.
func (s *source) appendRow(list *yaml.Node, text string) ([]splice, error) {
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 || list.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("pairs is not a list with a row for each pair: write each on its own line, then another can be added")
	}
	start, end, err := s.rowLines(list.Content[len(list.Content)-1])
	if err != nil {
		return nil, err
	}
	text = indented(text, dashColumn(s.text[start:]))
	if end > 0 && s.text[end-1] != '\n' {
		text = "\n" + text // the file's last line had no end
	}
	return []splice{{end, end, text}}, nil
}
