package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// MoveShard puts a shard under another pair, behind those it has. The row goes
// as it was written, with its sizes, its own comment and the comment lines
// right above it. A shard that is there already stays as it is.
func (e *Edit) MoveShard(shard farm.ShardName, to farm.PairName) {
	at, ok := e.shardIndex()[shard]
	if !ok {
		e.fail("farm.yaml has no shard %q", shard)
		return
	}
	j := slices.IndexFunc(e.farm.Pairs, func(p farm.Pair) bool { return p.Name == to })
	switch {
	case j < 0:
		e.fail("farm.yaml has no pair %q", to)
		return
	case j == at[0]:
		return
	case len(e.rows) > 0:
		e.fail("one shard is moved in one edit")
		return
	}
	i := at[0]
	moved := e.farm.Pairs[i].Shards[at[1]]
	e.farm.Pairs[i].Shards = slices.Delete(e.farm.Pairs[i].Shards, at[1], at[1]+1)
	e.farm.Pairs[j].Shards = append(e.farm.Pairs[j].Shards, moved)
	e.shards = nil
	from, _, _ := follow(e.root, fmt.Sprintf("pairs[%d]", i))
	row, _, _ := follow(e.root, fmt.Sprintf("pairs[%d].shards[%d]", i, at[1]))
	into, _, _ := follow(e.root, fmt.Sprintf("pairs[%d]", j))
	e.rows = append(e.rows, func(s *source) ([]splice, error) { return s.moveRow(from, row, into) })
}

// moveRow cuts a row out of the shards of one pair and writes it behind those of
// another. Rows of lists that are on lines of their own are moved as lines;
// other layouts are refused with what to do.
func (s *source) moveRow(from, row, into *yaml.Node) ([]splice, error) {
	list := value(from, "shards")
	start, end, err := s.rowLines(row)
	if err != nil {
		return nil, err
	}
	cut := splice{s.withComments(start, dashColumn(s.text[start:])), end, ""}
	text := string(s.text[cut.start:end])
	if len(list.Content) == 1 { // its key would be left with nothing
		cut.start = s.lineStart(s.offset(firstKey(from, "shards")))
	}
	at, indent, head, err := s.rowsEnd(into)
	if err != nil {
		return nil, err
	}
	put := splice{at, at, head + indented(text, indent)}
	if at > 0 && s.text[at-1] != '\n' {
		put.text = "\n" + put.text // the file's last line had no end
	}
	return []splice{cut, put}, nil
}

// rowsEnd is where a further row of a pair's shards goes, how far in its dash
// stands, and what comes before it: the key, when the pair has no shards.
func (s *source) rowsEnd(pair *yaml.Node) (at, indent int, head string, err error) {
	if pair.Style&yaml.FlowStyle != 0 {
		return 0, 0, "", fmt.Errorf("the pair is written on one line: write each key on its own line, then another shard can be added")
	}
	list := value(pair, "shards")
	if list != nil && len(list.Content) > 0 {
		last := list.Content[len(list.Content)-1]
		start, end, err := s.rowLines(last)
		return end, dashColumn(s.text[start:]), "", err
	}
	if list != nil {
		return 0, 0, "", fmt.Errorf("the pair has an empty list of shards: take the key away, then it can take a shard")
	}
	column := pair.Content[0].Column - 1
	_, end, err := s.rowLines(pair)
	return end, column + 2, strings.Repeat(" ", column) + "shards:\n", err
}

// rowLines are the lines of an entry of a list, from the line of its dash to the
// last line that is further in than the dash. Comments and blank lines behind it
// belong to what comes next.
func (s *source) rowLines(row *yaml.Node) (start, end int, err error) {
	start = s.lineStart(s.offset(row))
	dash := dashColumn(s.text[start:])
	if dash < 0 || dash >= row.Column-1 {
		return 0, 0, fmt.Errorf("line %d: the row does not begin its line with a dash: write it on its own line", row.Line)
	}
	end = s.lineEnd(start)
	for at := end; at < len(s.text); at = s.lineEnd(at) {
		line := s.text[at:s.lineEnd(at)]
		words := bytes.TrimLeft(line, " ")
		if trimmed := bytes.TrimSpace(words); len(trimmed) == 0 || trimmed[0] == '#' {
			continue // it belongs to the row if more of the row follows
		}
		if len(line)-len(words) <= dash {
			break
		}
		end = s.lineEnd(at)
	}
	return start, end, nil
}

// withComments is where the comment lines right above a row begin.
func (s *source) withComments(start, column int) int {
	for start > 0 {
		above := s.lineStart(start - 1)
		line := s.text[above:start]
		words := bytes.TrimLeft(line, " ")
		if len(words) == 0 || words[0] != '#' || len(line)-len(words) != column {
			return start
		}
		start = above
	}
	return start
}

// dashColumn is how far in a line's dash stands, -1 without one.
func dashColumn(line []byte) int {
	words := bytes.TrimLeft(line, " ")
	if len(words) == 0 || words[0] != '-' {
		return -1
	}
	return len(line) - len(words)
}

// indented shifts lines so that their dash stands at column.
func indented(text string, column int) string {
	had := 0
	for line := range strings.Lines(text) {
		if at := dashColumn([]byte(line)); at >= 0 {
			had = at
			break
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		words := strings.TrimLeft(line, " ")
		if strings.TrimSpace(words) != "" {
			b.WriteString(strings.Repeat(" ", max(0, len(line)-len(words)-had+column)))
		}
		b.WriteString(words)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}
