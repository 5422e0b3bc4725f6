package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"stowage/explain"
)

// deadAdvice says why a command cannot be typed as it stands; nil: the verb is there, takes these flags and so many arguments.
func deadAdvice(command string) error {
	words, err := shellWords(command)
	if err != nil || len(words) < 2 || words[0] != "stowage" {
		return fmt.Errorf("%q is not a command of this program: %v", command, err)
	}
	root := (&app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, busy: &busy{}}).root()
	verb, rest, err := root.Find(words[1:])
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", command, err)
	case !verb.Runnable() || verb == root || showsHelp[verbPath(verb)]:
		return fmt.Errorf("%s: %q is not a verb", command, verb.CommandPath())
	}
	if err := verb.ParseFlags(rest); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if err := verb.ValidateArgs(verb.Flags().Args()); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if verbPath(verb) == "explain" && verb.Flags().Arg(0) != "" && verb.Flags().Arg(0) != stand {
		if _, known := explain.Of(verb.Flags().Arg(0)); !known {
			return fmt.Errorf("%s: no code has this name", command)
		}
	}
	return nil
}

// showsHelp are verbs that only have verbs below them.
var showsHelp = map[string]bool{"schema": true, "bench": true, "backup": true, "side": true}

// shellWords splits a line as a shell does whose only quotes are single ones.
func shellWords(line string) ([]string, error) {
	var out []string
	word, quoted, begun := "", false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '\\' && !quoted && i+1 < len(line):
			i++
			word, begun = word+line[i:i+1], true
		case c == ' ' && !quoted:
			if begun {
				out = append(out, word)
			}
			word, begun = "", false
		case !quoted && strings.ContainsRune("<>|&;$`\"(){}*?~", rune(c)):
			return nil, fmt.Errorf("a shell makes something else of %q", c)
		default:
			word, begun = word+string(c), true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is open")
	}
	if begun {
		out = append(out, word)
	}
	return out, nil
}

// nextOf are the next steps that the program gave, in either form. Of an object the list is there, and may be empty.
func nextOf(args []string, stdout, stderr string) ([]string, error) {
	var out []string
	for _, line := range strings.Split(stderr, "\n") {
		if command, ok := strings.CutPrefix(line, "next: "); ok {
			out = append(out, command)
		}
	}
	if !slices.Contains(args, "--json") {
		return out, nil
	}
	if len(out) > 0 {
		return nil, fmt.Errorf("with --json standard error has next steps: %q", out)
	}
	var object map[string]any
	if json.Unmarshal([]byte(stdout), &object) != nil {
		return nil, nil // lines, or an error
	}
	list, ok := object["next_steps"].([]any)
	if !ok {
		return nil, fmt.Errorf("the object has no list next_steps")
	}
	for _, step := range list {
		out = append(out, step.(string))
	}
	return out, nil
}

func TestDeadAdviceIsSeen(t *testing.T) {
	for _, command := range []string{"stowage", "stowage plam", "stowage move", "stowage move first --dry", "stowage log move-first-1", "stowage explain nothing-of-the-kind", "stowage schema", "stowage plan, then stowage move",
		"stowage capacity > file", "look at db001", "stowage -C 'a b plan", "stowage move $PLAN"} {
		if deadAdvice(command) == nil {
			t.Errorf("%q passes", command)
		}
	}
	a := &app{dir: "it's a farm", args: []string{"-C", "it's a farm", "roll", "--dry-run", "--", "apt", "--dry-run", "x y"}}
	for _, command := range []string{a.cmd("move %s --dry-run", "a b"), a.cmd("plan show %s --html %s", "first", "first.html"), "stowage explain server-id-spent", a.again([]string{"--dry-run"}, "--yes")} {
		if err := deadAdvice(command); err != nil {
			t.Error(err)
		}
	}
	if got, want := a.again([]string{"--dry-run"}, "--yes"), `stowage -C 'it'\''s a farm' roll --yes -- apt --dry-run 'x y'`; got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
}

// What was measured or replayed and not kept is not the end: the same command keeps it.
func TestUnkeptResultsCanBeKept(t *testing.T) {
	a := &app{dir: ".", args: []string{"bench", "run", "/srv/my data"}}
	if got := fmt.Sprint(a.afterBench("")); got != "[stowage bench run '/srv/my data' --save bench.json]" {
		t.Errorf("after a bench: %s", got)
	}
	a.args = []string{"replay", "slow.log", "--to", "db1a"}
	if got := fmt.Sprint(replayFlags{to: "db1a"}.next(a)); got != "[stowage replay slow.log --to db1a --save replay.digest]" {
		t.Errorf("after a replay: %s", got)
	}
	for name, f := range map[string]replayFlags{"writes": {to: "db1a", writes: true}, "dry run": {dryRun: true}} {
		if got := f.next(a); got != nil {
			t.Errorf("after a replay (%s): %s", name, got)
		}
	}
	a.args = []string{"replay", "-", "--to", "db1a"}
	if got := (replayFlags{to: "db1a"}).next(a); got != nil {
		t.Errorf("after a replay of standard input: %s", got)
	}
}

// The steps are the last member of an object, whatever it is and in whatever pieces it comes.
func TestStepsAreTheLastMember(t *testing.T) {
	for _, object := range []string{"{}\n", "{\n \"a\": 1\n}\n", `{"a":{"b":[1,2]}}`, "{\n \"a\": {}\n}\n", "{\"a\":\"" + strings.Repeat("x", 50) + "}\"}"} {
		for _, piece := range []int{1, 7, 1000} {
			var to bytes.Buffer
			a := &app{stdout: &to, json: true}
			a.then("stowage move 'a<b' --dry-run")
			err := a.encode(func(w io.Writer) error {
				for part := range slices.Chunk([]byte(object), piece) {
					if _, err := w.Write(part); err != nil {
						return err
					}
				}
				return nil
			})
			var was, is map[string]any
			if err != nil || json.Unmarshal([]byte(object), &was) != nil || json.Unmarshal(to.Bytes(), &is) != nil {
				t.Fatalf("%q in pieces of %d: %v\n%s", object, piece, err, &to)
			}
			was["next_steps"] = []any{"stowage move 'a<b' --dry-run"}
			if fmt.Sprint(was) != fmt.Sprint(is) || strings.Contains(to.String(), `\u003c`) {
				t.Errorf("%q in pieces of %d became %s", object, piece, &to)
			}
		}
	}
	a := &app{stdout: &bytes.Buffer{}, json: true}
	if err := a.encode(func(w io.Writer) error { _, err := w.Write([]byte("[1]\n")); return err }); err == nil {
		t.Error("a list passes for an object")
	}
}
