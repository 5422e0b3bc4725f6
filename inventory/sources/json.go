package sources

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"

	"stowage/internal/nested"
	"stowage/inventory/claims"
)

// lineIndex finds the line of an offset.
type lineIndex []int

func newLines(src []byte) lineIndex {
	out := lineIndex{0}
	for i, b := range src {
		if b == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

func (l lineIndex) at(offset int64) int {
	return sort.Search(len(l), func(i int) bool { return int64(l[i]) > offset })
}

// json reads a file token by token: encoding/json knows no lines, and keeps
// the last of two equal keys without a word.
func (r *reader) json(file string, src []byte) {
	if err := nested.JSON(src); err != nil {
		var deep *nested.TooDeep
		errors.As(err, &deep)
		r.fault(claims.Place{Where: file, Line: deep.Line}, "%s", deep.Reason())
		return
	}
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(src)), lines: newLines(src)}
	p.dec.UseNumber()
	root, err := p.value("")
	if err == nil {
		if _, more := p.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		offset := p.dec.InputOffset()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			offset = max(0, syntax.Offset-1)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		r.fault(claims.Place{Where: file, Line: p.lines.at(offset)}, "this is not JSON: %s", err)
	}
	if root != nil && (err == nil || len(root.items) > 0) {
		r.entries(file, root) // what is before the fault counts
	}
}

type jsonParser struct {
	dec   *json.Decoder
	lines lineIndex
}

// value reads one value. On an error it returns what was read before it.
func (p *jsonParser) value(key string) (*node, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{key: key, line: p.lines.at(max(0, p.dec.InputOffset()-1))}
	delim, ok := tok.(json.Delim)
	if !ok {
		n.isPlain, n.text = true, scalarText(tok)
		return n, nil
	}
	n.isList = delim == '['
	for p.dec.More() {
		name := ""
		if !n.isList {
			tok, err := p.dec.Token()
			if err != nil {
				return n, err
			}
			name, _ = tok.(string)
		}
		item, err := p.value(name)
		if item != nil && (err == nil || len(item.items) > 0) {
			n.items = append(n.items, item)
		}
		if err != nil {
			return n, err
		}
	}
	_, err = p.dec.Token()
	return n, err
}

func scalarText(tok json.Token) string {
	switch v := tok.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}
