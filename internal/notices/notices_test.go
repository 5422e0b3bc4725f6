package notices

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/internal/turns"
)

var write = flag.Bool("write", false, "write NOTICE and THIRD-PARTY-LICENSES.txt, instead of comparing them with go.mod")

const root = "../.."

// A module came, went or changed its version, and what is handed on with the
// binaries does not say so.
func TestNoticesAreOfToday(t *testing.T) {
	turns.One(t, 6)
	lookAtSources(t)
	all, err := linked(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults(all) {
		t.Errorf("%s: not on the list of licences that may be linked; a person decides, then classify.go says so", fault)
	}
	path := filepath.Join(root, "NOTICE")
	head, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{path: notice(string(head), all), filepath.Join(root, textsFile): texts(all)} {
		if *write && !t.Failed() {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what go.mod and engined/go.mod say (%v): make notices. First difference: %s", path, err, firstDifference(string(got), want))
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d modules: this test looks in the wrong place", len(all))
	}
}

// lookAtSources lets go test know what go list will read: an answer that it
// kept of an earlier run is no answer after a change there.
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != root && (e.Name() == "bin" || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".")) {
			return filepath.SkipDir
		}
		return err
	})
	for _, name := range []string{"go.mod", "engined/go.mod"} {
		_, readErr := os.ReadFile(filepath.Join(root, name))
		err = errors.Join(err, readErr)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func firstDifference(got, want string) string {
	have, should := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(have), len(should)) {
		if have[i] != should[i] {
			return "has " + have[i] + ", should have " + should[i]
		}
	}
	return "one of the two is longer"
}

// A licence is known by its text, and one that nobody has looked at is not
// taken for another.
func TestLicencesAreKnownByTheirText(t *testing.T) {
	for text, want := range map[string][]string{
		"                                 Apache License\n                           Version 2.0, January 2004":     {"Apache-2.0"},
		"// Licensed under the Apache License, Version 2.0 (the \"License\")":                                       {"Apache-2.0"},
		"Permission is hereby granted, free of charge, to any\nperson obtaining a copy of":                          {"MIT"},
		"Redistributions in binary form must reproduce the above":                                                   {"BSD-2-Clause"},
		"Redistributions in binary form must reproduce. Names may not be used to\n# endorse or promote products":    {"BSD-3-Clause"},
		"Mozilla Public License Version 2.0 ... GNU General Public License":                                         {"MPL-2.0"},
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                                      {"GPL"},
		"GNU Affero General Public License":                                                                         {"AGPL"},
		"Business Source License 1.1":                                                                               {"BUSL-1.1"},
		"You may use this on Tuesdays.":                                                                             nil,
		"permission is hereby granted, free of charge, to any person obtaining a copy. apache license, version 2.0": {"Apache-2.0", "MIT"},
	} {
		if got := licencesIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A module under a licence that may not be linked, or under none, fails the
// test above; one that a person has looked at does so again in its next version.
func TestLicencesThatMayNotBeLinked(t *testing.T) {
	m := func(path, version, content string) module {
		x := module{path: path, version: version, in: []string{"stowage"}}
		if content != "" {
			x.texts = []text{{"LICENSE", content, false}}
		}
		return x.judged(nil)
	}
	const nexus = "github.com/nexus-rpc/nexus-proto-annotations"
	for _, x := range []struct {
		m    module
		want int
	}{
		{m("a", "v1", "permission is hereby granted, free of charge, to any person obtaining a copy"), 0},
		{m("a", "v1", "GNU Lesser General Public License"), 1},
		{m("a", "v1", "You may use this on Tuesdays."), 1},
		{m("a", "v1", ""), 1},
		{m(nexus, "v0.1.0", ""), 0},
		{m(nexus, "v0.2.0", ""), 1},
	} {
		if got := faults([]module{x.m}); len(got) != x.want {
			t.Errorf("%s %s under %q: %q, want %d faults", x.m.path, x.m.version, x.m.licences, got, x.want)
		}
	}
}
