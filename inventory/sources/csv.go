package sources

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"stowage/inventory/claims"
)

// table reads a CSV or TSV file with a header. Columns are found by name,
// never by position. Spreadsheets write ; for a comma.
func (r *reader) table(file string, src []byte) {
	in := r.tableReader(src, 0)
	first, _, _ := bytes.Cut(src, []byte("\n"))
	if r.spec.Kind != "tsv" && bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		in.Comma = ';'
	}
	comma := in.Comma
	head, err := in.Read()
	if err != nil {
		r.fault(claims.Place{Where: file, Line: 1}, "the header cannot be read: %s", err)
		return
	}
	h := r.header(file, head)
	if h.named.host < 0 {
		return
	}
	starts := newLines(src)
	for base := 0; ; { // lines before the reader's first
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			// A quote that is not closed swallows the rest of the file: go on behind the line where it was opened.
			line := base + parse.StartLine
			r.fault(claims.Place{Where: file, Line: line}, "%s", parse.Err)
			if line >= len(starts) || r.more > 0 {
				return
			}
			base, in = line, r.tableReader(src[starts[line]:], comma)
			continue
		}
		if err != nil {
			r.fault(claims.Place{Where: file}, "%s", err)
			return
		}
		line, _ := in.FieldPos(0)
		r.row(claims.Place{Where: file, Line: base + line}, row, h)
	}
}

func (r *reader) tableReader(src []byte, comma rune) *csv.Reader {
	in := csv.NewReader(bytes.NewReader(src))
	in.FieldsPerRecord, in.LazyQuotes, in.TrimLeadingSpace = -1, r.spec.Kind == "tsv", true
	switch {
	case comma != 0:
		in.Comma = comma
	case r.spec.Kind == "tsv":
		in.Comma = '\t'
	}
	return in
}

// tableHead is where the columns of a table are.
type tableHead struct {
	width      int
	named      column
	attributes []string // sorted
	from       map[string]column
}

// column is one column, or two that are the host and the port of an address.
// -1 is none.
type column struct{ host, port int }

// header finds the columns. One that is not there, or twice, is a fault.
func (r *reader) header(file string, head []string) tableHead {
	columns, place := map[string]int{}, claims.Place{Where: file, Line: 1}
	twice := map[string]bool{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, ok := columns[name]; ok {
			twice[name] = true
		}
		columns[name] = i
	}
	find := func(name string) (int, bool) {
		name = strings.ToLower(name)
		i, ok := columns[name]
		if ok && twice[name] {
			r.fault(place, "two columns are called %q: which of them is meant?", name)
			return -1, true
		}
		return i, ok
	}
	at := func(name string) column {
		if i, ok := find(name); ok {
			return column{i, -1}
		}
		if host, port, two := splitName(name); two {
			if i, ok := find(host); ok {
				if j, ok := find(port); ok {
					return column{i, j}
				}
			}
		}
		r.fault(place, "no column %q; there are %s", name, strings.Join(head, ", "))
		return column{-1, -1}
	}
	out := tableHead{width: len(head), named: at(r.spec.Called), attributes: sortedKeys(r.spec.Attributes), from: map[string]column{}}
	for _, attribute := range out.attributes {
		out.from[attribute] = at(r.spec.Attributes[attribute])
	}
	return out
}

func (r *reader) row(place claims.Place, row []string, h tableHead) {
	if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
		return
	}
	if len(row) != h.width {
		r.fault(place, "%d fields, and the header has %d", len(row), h.width)
		return
	}
	name := h.named.text(row)
	if name == "" {
		r.fault(place, "%s is empty", r.spec.Called)
		return
	}
	s := claims.Subject{Kind: r.subject(claims.Instance), Name: name}
	r.say(s, "", "", place)
	for _, attribute := range h.attributes {
		if text := h.from[attribute].text(row); text != "" {
			r.value(s, attribute, text, place)
		}
	}
}

func (c column) text(row []string) string {
	switch {
	case c.host < 0:
		return ""
	case c.port < 0:
		return strings.TrimSpace(row[c.host])
	}
	return together(strings.TrimSpace(row[c.host]), strings.TrimSpace(row[c.port]))
}

// value claims a value. Addresses may be data source names.
func (r *reader) value(s claims.Subject, attribute, value string, place claims.Place) {
	if attribute != "address" && attribute != "dsn" {
		r.say(s, attribute, value, place)
		return
	}
	d, ok := parseDSN(value)
	if !ok {
		r.say(s, "address", value, place)
		return
	}
	for _, address := range d.addresses {
		r.say(s, "address", address, place)
	}
	if len(d.addresses) == 0 {
		r.hide(s, "address", "a socket", place)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
