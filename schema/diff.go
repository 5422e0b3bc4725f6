package schema

import (
	"slices"
	"strings"
)

// Kind is what differs between two tables.
type Kind string

const (
	OfTable      Kind = "table"
	OfColumn     Kind = "column"
	OfOrder      Kind = "order of columns"
	OfKey        Kind = "key"
	OfConstraint Kind = "constraint"
	OfOptions    Kind = "options"
	OfPartitions Kind = "partitions"
)

// Difference is one thing in which a table is not what it should be. Is is what there is, Should what should be; "" says that there is, or should be, nothing.
type Difference struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name,omitempty"`
	Is     string `json:"is"`
	Should string `json:"should"`
}

// Diff is in what a table is not what it should be; nil: in nothing. The order of keys and constraints does not count.
func Diff(is, should Table) []Difference {
	var out []Difference
	out = append(out, parts(OfColumn, is.Columns, should.Columns)...)
	if had, want := common(is.Columns, should.Columns), common(should.Columns, is.Columns); !slices.Equal(had, want) {
		out = append(out, Difference{OfOrder, "", strings.Join(had, ", "), strings.Join(want, ", ")})
	}
	out = append(out, parts(OfKey, is.Keys, should.Keys)...)
	out = append(out, parts(OfConstraint, is.Constraints, should.Constraints)...)
	if is.Options != should.Options {
		out = append(out, Difference{OfOptions, "", is.Options, should.Options})
	}
	if is.Partitions != should.Partitions {
		out = append(out, Difference{OfPartitions, "", is.Partitions, should.Partitions})
	}
	return out
}

func parts(k Kind, is, should []Part) []Difference {
	var out []Difference
	for _, p := range is {
		switch n := find(should, p.Name); {
		case n < 0:
			out = append(out, Difference{k, p.Name, p.Text, ""})
		case should[n].Text != p.Text:
			out = append(out, Difference{k, p.Name, p.Text, should[n].Text})
		}
	}
	for _, p := range should {
		if find(is, p.Name) < 0 {
			out = append(out, Difference{k, p.Name, "", p.Text})
		}
	}
	return out
}

// find compares names as servers do: columns, keys and constraints have no case.
func find(in []Part, name string) int {
	return slices.IndexFunc(in, func(p Part) bool { return strings.EqualFold(p.Name, name) })
}

// common are the names of a that are in b, in the order of a.
func common(a, b []Part) []string {
	var out []string
	for _, p := range a {
		if find(b, p.Name) >= 0 {
			out = append(out, strings.ToLower(p.Name))
		}
	}
	return out
}

// String is one line: what there is, and what should be.
func (d Difference) String() string {
	what := string(d.Kind)
	if d.Name != "" {
		what += " " + d.Name
	}
	switch {
	case d.Is == "" && d.Should == "":
		return what
	case d.Is == "":
		return what + " is missing: " + d.definition(d.Should)
	case d.Should == "":
		return what + " is too many: " + d.definition(d.Is)
	}
	return what + " is " + d.definition(d.Is) + ", should be " + d.definition(d.Should)
}

// definition is a part without its name, which is said already.
func (d Difference) definition(text string) string {
	if d.Kind == OfColumn {
		if n, rest := name(text); strings.EqualFold(n, d.Name) {
			return strings.TrimSpace(rest)
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
