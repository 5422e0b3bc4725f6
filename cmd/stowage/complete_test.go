package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"stowage/internal/turns"
)

// namesInUse are words for what the workspace has a name for. TENANT is none: tenants are rows of a server.
var namesInUse = regexp.MustCompile(`\b(PAIR|HOST|PLAN|PLAYBOOK|SHARD|INSTANCE|SPEC|BACKUP|BEFORE|CODE)\b`)

// A verb whose arguments name something lets the shell complete it, and so does a flag.
func TestEveryNameIsCompleted(t *testing.T) {
	a := &app{}
	root := a.root()
	completeNames(a, root)
	seen := map[string]bool{}
	_ = eachVerb(root, func(c *cobra.Command) error {
		verb := verbPath(c)
		seen[verb] = true
		words, _, _ := strings.Cut(strings.TrimPrefix(c.Use, c.Name()), " --") // behind that stand flags
		if namesInUse.MatchString(words) && c.ValidArgsFunction == nil && verb != "restore remove" {
			t.Errorf("stowage %s: %s is not completed; argumentNames has a row for each verb", verb, c.Use)
		}
		for flag := range flagsNamed(c) {
			seen[verb+" --"+flag] = c.Flags().Lookup(flag) != nil
			if complete, ok := c.GetFlagCompletionFunc(flag); !ok || complete == nil {
				t.Errorf("stowage %s --%s is not completed", verb, flag)
			}
		}
		return nil
	})
	for verb := range argumentNames {
		if !seen[verb] {
			t.Errorf("argumentNames has %q, which is not a verb", verb)
		}
	}
	for flag := range verbFlagNames {
		if !seen[flag] {
			t.Errorf("verbFlagNames has %q, which is no flag of that verb", flag)
		}
	}
}

// Each verb has a page, which troff reads without a warning and which ends with exit codes and examples.
func TestManualPages(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"man", dir}, &out, &errOut, nil); code != exitFine || out.Len()+errOut.Len() > 0 {
		t.Fatalf("exit code %d: %s%s", code, &out, &errOut)
	}
	pages, _ := filepath.Glob(dir + "/*.1")
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("NOT TESTED: what troff makes of the manual pages: there is no groff")
	}
	verbs, root := 0, (&app{}).root()
	root.InitDefaultHelpCmd()
	walkVerbs(root, func(path []string) {
		verbs++
		page := filepath.Join(dir, strings.Join(append([]string{"stowage"}, path...), "-")+".1")
		cmd := exec.Command(groff, "-ww", "-man", "-Tutf8", "-P-cbou", page)
		var shown, warnings bytes.Buffer
		cmd.Stdout, cmd.Stderr = &shown, &warnings
		if err := cmd.Run(); err != nil || warnings.Len() > 0 {
			t.Errorf("groff %s: %v: %s", filepath.Base(page), err, &warnings)
		}
		last := -1
		for _, title := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES"} {
			at := strings.Index(shown.String(), "\n"+title+"\n")
			if at <= last {
				t.Errorf("%s has no %s behind what comes before:\n%s", filepath.Base(page), title, &shown)
			}
			last = at
		}
	})
	if len(pages) != verbs {
		t.Errorf("%d pages for %d verbs", len(pages), verbs)
	}
}
