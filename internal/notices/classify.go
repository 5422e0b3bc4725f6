package notices

import (
	"regexp"
	"slices"
	"strings"
)

// mayBeLinked are the licences that a binary under the Apache License 2.0 may
// contain when their texts and notices go with it. Any other needs a person's
// decision first.
var mayBeLinked = []string{"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "MPL-2.0", "Zlib", "CC0-1.0", "Unlicense"}

// signs are words that are in one licence only, in text whose space and case
// have been evened out.
var signs = []struct {
	licence string
	all     []string
	none    []string
}{
	{"Apache-2.0", []string{"apache license, version 2.0"}, nil},
	{"Apache-2.0", []string{"apache license version 2.0, january 2004"}, nil},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}, nil},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}, nil},
	{"BSD-3-Clause", []string{"redistributions in binary form must reproduce", "endorse or promote"}, []string{"all advertising materials"}},
	{"BSD-2-Clause", []string{"redistributions in binary form must reproduce"}, []string{"endorse or promote", "all advertising materials"}},
	{"BSD-4-Clause", []string{"redistributions in binary form must reproduce", "all advertising materials"}, nil},
	{"ISC", []string{"with or without fee is hereby granted, provided that the above copyright notice"}, nil},
	{"0BSD", []string{"with or without fee is hereby granted."}, nil},
	{"Zlib", []string{"altered source versions must be plainly marked"}, nil},
	{"CC0-1.0", []string{"creative commons", "cc0 1.0 universal"}, nil},
	{"Unlicense", []string{"free and unencumbered software released into the public domain"}, nil},
	{"EPL", []string{"eclipse public license"}, []string{"mozilla public license"}},
	{"BUSL-1.1", []string{"business source license"}, nil},
	{"SSPL-1.0", []string{"server side public license"}, nil},
	{"AGPL", []string{"gnu affero general public license"}, []string{"mozilla public license"}},
	{"LGPL", []string{"gnu lesser general public license"}, []string{"mozilla public license"}},
	{"GPL", []string{"gnu general public license"}, []string{"mozilla public license"}},
}

var space = regexp.MustCompile(`[\s/*#>]+`)

func even(text string) string {
	return strings.TrimSpace(space.ReplaceAllString(strings.ToLower(text), " "))
}

// licencesIn are those whose words are in a text, sorted; none when it is of
// a kind that nobody has looked at.
func licencesIn(text string) []string {
	text = even(text)
	in := func(words string) bool { return strings.Contains(text, words) }
	var out []string
	for _, s := range signs {
		hit := true
		for _, words := range s.all {
			hit = hit && in(words)
		}
		if hit && !slices.ContainsFunc(s.none, in) {
			out = append(out, s.licence)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
