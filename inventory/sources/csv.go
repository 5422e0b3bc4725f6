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
	in := csv.NewReader(bytes.NewReader(src))
	in.FieldsPerRecord, in.LazyQuotes, in.TrimLeadingSpace = -1, r.spec.Kind == "tsv", true
	first, _, _ := bytes.Cut(src, []byte("\n"))
	switch {
	case r.spec.Kind == "tsv":
		in.Comma = '\t'
	case bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")):
		in.Comma = ';'
	}
	head, err := in.Read()
	if err != nil {
		r.fault(claims.Place{Where: file, Line: 1}, "the header cannot be read: %s", err)
		return
	}
	columns := map[string]int{}
	for i, name := range head {
		columns[strings.ToLower(strings.TrimSpace(name))] = i
	}
	at := func(name string) int {
		if i, ok := columns[strings.ToLower(name)]; ok {
			return i
		}
		r.fault(claims.Place{Where: file, Line: 1}, "no column %q; there are %s", name, strings.Join(head, ", "))
		return -1
	}
	named, from := at(r.spec.Called), map[string]int{}
	for _, attribute := range sortedKeys(r.spec.Attributes) {
		from[attribute] = at(r.spec.Attributes[attribute])
	}
	if named < 0 {
		return
	}
	names := sortedKeys(from)
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			r.fault(claims.Place{Where: file, Line: parse.Line}, "%s", parse.Err)
			continue
		}
		if err != nil {
			r.fault(claims.Place{Where: file}, "%s", err)
			return
		}
		line, _ := in.FieldPos(0)
		r.row(claims.Place{Where: file, Line: line}, row, named, len(head), names, from)
	}
}

func (r *reader) row(place claims.Place, row []string, named, width int, names []string, from map[string]int) {
	if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
		return
	}
	if len(row) != width {
		r.fault(place, "%d fields, and the header has %d", len(row), width)
		return
	}
	name := strings.TrimSpace(row[named])
	if name == "" {
		r.fault(place, "%s is empty", r.spec.Called)
		return
	}
	s := claims.Subject{Kind: r.subject(claims.Instance), Name: name}
	r.say(s, "", "", place)
	for _, attribute := range names {
		if i := from[attribute]; i >= 0 && strings.TrimSpace(row[i]) != "" {
			r.value(s, attribute, strings.TrimSpace(row[i]), place)
		}
	}
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
		r.claims = append(r.claims, claims.Claim{Subject: s, Attribute: "address", Value: "a socket", Unknown: true, Place: place})
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
