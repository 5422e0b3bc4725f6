package digest

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// anonymizer takes out what tells of people: values in statements, users, hosts and the names of files. Names of tables and
// databases stay, for without them nobody knows what a class is.
type anonymizer struct {
	groupBy              GroupBy
	users, hosts, inputs map[string]string
}

func newAnonymizer(g GroupBy) *anonymizer {
	return &anonymizer{g, map[string]string{}, map[string]string{}, map[string]string{}}
}

// group is what a class may be called, and the IDs that go with it: those of a user would tell who it is to whoever tries names.
func (a *anonymizer) group(fingerprint, id32 string) (name, newID string) {
	switch a.groupBy {
	case ByUser:
		name = alias(a.users, "user", fingerprint)
	case ByHost:
		name = alias(a.hosts, "host", fingerprint)
	default:
		return withoutValues(fingerprint), id32
	}
	id := md5.Sum([]byte(name))
	return name, strings.ToUpper(hex.EncodeToString(id[:]))
}

// alias gives equal names equal numbers, in the order in which they are met.
func alias(known map[string]string, what, name string) string {
	if name == "" {
		return ""
	}
	if known[name] == "" {
		known[name] = fmt.Sprintf("%s%d", what, len(known)+1)
	}
	return known[name]
}

func (a *anonymizer) input(in Input) Input {
	in.Name = alias(a.inputs, "input", in.Name)
	return in
}

func (a *anonymizer) class(c Class) Class {
	c.Fingerprint, c.ID32 = a.group(c.Fingerprint, c.ID32)
	c.ID16 = c.ID32[16:]
	c.Users, c.Hosts = a.named(a.users, "user", c.Users), a.named(a.hosts, "host", c.Hosts)
	c.Plan = nil // definitions of tables hold defaults and comments
	x := &c.Example
	if x.Query != "" {
		x.Query = c.Fingerprint
	}
	x.User, x.Host = alias(a.users, "user", x.User), alias(a.hosts, "host", x.Host)
	c.Samples = slices.Clone(c.Samples)
	for i := range c.Samples {
		s := &c.Samples[i].Example
		s.Query, s.User, s.Host = c.Fingerprint, alias(a.users, "user", s.User), alias(a.hosts, "host", s.Host)
	}
	return c
}

func (a *anonymizer) named(known map[string]string, what string, ns []Named) []Named {
	out := make([]Named, len(ns))
	for i, n := range ns {
		out[i] = Named{alias(known, what, n.Name), n.Count}
	}
	return out
}

// withoutValues reads a fingerprint once more as the server does: pt-query-digest's rules leave some values in (0xDEADBEEF in
// capitals, what is behind a quote that is not closed).
func withoutValues(fingerprint string) string {
	return remains().ReplaceAllString(strings.ToValidUTF8(string(lexerFingerprint(nil, []byte(fingerprint), nil)), "?"), "$1?")
}

// remains is what is left of a value behind its question mark; one inside a name is a shard's number.
var remains = lazy.Regexp(`(^|[^\pL\pN_.$])\?[\pL\pN_]+`)

// Anonymize takes values, users, hosts and the names of inputs out of what the listing says. Equal names have equal numbers.
func (l *Listing) Anonymize() {
	l.anonymous = newAnonymizer(l.head.GroupBy)
	for i, in := range l.head.Inputs {
		l.head.Inputs[i] = l.anonymous.input(in)
	}
}

// Anonymize takes values and the names of inputs out of a comparison.
func (c *Comparison) Anonymize() {
	a := newAnonymizer(c.GroupBy)
	for _, s := range []*Side{&c.Before, &c.After} {
		for i, in := range s.Inputs {
			s.Inputs[i] = a.input(in)
		}
	}
	for i := range c.Classes {
		ch := &c.Classes[i]
		ch.Fingerprint, ch.ID32 = a.group(ch.Fingerprint, ch.ID32)
		ch.ID16 = ch.ID32[16:]
	}
}

// Anonymize takes values out of a trend, and what people wrote.
func (t *Trend) Anonymize() {
	for i := range t.Classes {
		t.Classes[i].Fingerprint, t.Classes[i].Reviewed = withoutValues(t.Classes[i].Fingerprint), nil
	}
}
