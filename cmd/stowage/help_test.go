package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// rawWords are names of Go types and empty defaults, as pflag prints them where nobody has named the value of a flag.
var rawWords = regexp.MustCompile(`\w+(Slice|Array)\b|\(default (\[|0s|-)|m0s\)`)

// TestHelpEndsWithExitCodesAndExample: what is looked up most stands last, for
// every verb there is, and no flag speaks Go.
func TestHelpEndsWithExitCodesAndExample(t *testing.T) {
	verbs := 0
	walkVerbs((&app{}).root(), func(path []string) {
		verbs++
		var out, errOut bytes.Buffer
		if code := run(t.Context(), append(path, "--help"), &out, &errOut, nil); code != exitFine || errOut.Len() > 0 {
			t.Errorf("%v --help: exit code %d, %s", path, code, errOut.String())
		}
		text := out.String()
		if n := strings.Count(text, "Exit codes:"); n != 1 {
			t.Errorf("%v --help names exit codes %d times", path, n)
		}
		_, end, _ := strings.Cut(text, exitHelp)
		if !strings.HasPrefix(end, "\n\nExamples:\n  ") || !strings.Contains(end, "stowage") {
			t.Errorf("%v --help does not end with exit codes and an example:\n%s", path, text)
		}
		if raw := rawWords.FindString(text); raw != "" {
			t.Errorf("%v --help says %q", path, raw)
		}
	})
	if verbs < 15 {
		t.Errorf("only %d verbs looked at", verbs)
	}
}

func walkVerbs(c *cobra.Command, visit func(path []string)) {
	visit(strings.Fields(c.CommandPath())[1:])
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			walkVerbs(sub, visit)
		}
	}
}
