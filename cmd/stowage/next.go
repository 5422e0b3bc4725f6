package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"stowage/farm"
)

// mostSteps are as many next steps as are shown: more is a manual.
const mostSteps = 3

// cmd is a command that can be typed as it stands where this one was typed: in the same workspace, its arguments quoted for a shell.
func (a *app) cmd(format string, args ...any) string {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = shellWord(fmt.Sprint(arg))
	}
	return a.within("stowage " + fmt.Sprintf(format, words...))
}

// within has a command of this program work in the workspace that was named.
func (a *app) within(command string) string {
	return inWorkspace(a.dir, command)
}

// inWorkspace has a command of this program work in the workspace of a directory.
func inWorkspace(dir, command string) string {
	if dir == "." {
		return command
	}
	return "stowage -C " + shellWord(dir) + strings.TrimPrefix(command, "stowage")
}

// again is the command that was typed, without some flags that take no value, and with more words.
func (a *app) again(without []string, more ...string) string {
	out := []string{"stowage"}
	for n, word := range a.args {
		if word == "--" {
			rest := a.args[n:]
			out = append(out, more...)
			for _, w := range rest {
				out = append(out, shellWord(w))
			}
			return strings.Join(out, " ")
		}
		if name, _, _ := strings.Cut(word, "="); !slices.Contains(without, name) {
			out = append(out, shellWord(word))
		}
	}
	return strings.Join(append(out, more...), " ")
}

// forReal is the command that was typed, carried out instead of only shown.
func (a *app) forReal() string { return a.again([]string{"--dry-run"}) }

// explainFirst asks about what was found, the first blocker, else the first warning: nothing where there is neither.
func (a *app) explainFirst(found []farm.Finding) []string {
	for _, severity := range []farm.Severity{farm.Blocker, farm.Warning} {
		for _, f := range found {
			if f.Severity == severity && f.Check != "" {
				return []string{a.cmd("explain %s", f.Check)}
			}
		}
	}
	return nil
}

// then says what to type next, once everything else has been printed: the most useful first.
func (a *app) then(next ...string) { a.next = next[:min(len(next), mostSteps)] }

// sayNext prints the next steps of a verb that has ended, on standard error: what standard output has is for whoever reads it, terminal or pipe. An error
// that says itself what to do has said it.
func (a *app) sayNext(err error) {
	if a.json || errors.Is(err, syscall.EPIPE) {
		return
	}
	next, code := a.next, exitCode(err)
	if code == exitUsage && farm.Hint(err) != "" {
		next = nil // the hint says what to type instead
	}
	if len(next) == 0 && farm.Hint(err) == "" && (code == exitRefused || code == exitFailed || code == exitUnknown) {
		next = []string{a.cmd("explain %s", code)}
	}
	for _, command := range next {
		fmt.Fprintf(a.stderr, "next: %s\n", command)
	}
}

// encode prints a JSON object with the next steps as its last member.
func (a *app) encode(write func(io.Writer) error) error {
	w := &stepsAtEnd{to: a.stdout}
	if err := write(w); err != nil {
		return errors.Join(err, w.flush())
	}
	return w.end(append([]string{}, a.next...))
}

// stepsAtEnd passes an object on, and holds its end back until its last member is known.
type stepsAtEnd struct {
	to   io.Writer
	held []byte // the end of what was written: white space and a brace, and what is before them
}

// heldBack is as much as the end of an object needs: what is before the brace, a line break, the brace, a line break.
const heldBack = 8

func (s *stepsAtEnd) Write(b []byte) (int, error) {
	s.held = append(s.held, b...)
	if more := len(s.held) - heldBack; more > 0 {
		if _, err := s.to.Write(s.held[:more]); err != nil {
			return 0, err
		}
		s.held = append(s.held[:0], s.held[more:]...)
	}
	return len(b), nil
}

// flush passes on what is held, as it is.
func (s *stepsAtEnd) flush() error {
	_, err := s.to.Write(s.held)
	s.held = nil
	return err
}

func (s *stepsAtEnd) end(next []string) error {
	body, closed := strings.CutSuffix(strings.TrimRight(string(s.held), " \n"), "}")
	if !closed {
		return errors.Join(s.flush(), errors.New("the answer is not an object"))
	}
	body = strings.TrimRight(body, " \n")
	comma := ","
	if strings.HasSuffix(body, "{") {
		comma = ""
	}
	list := []byte("[]")
	if len(next) > 0 {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent(" ", " ")
		if err := enc.Encode(next); err != nil {
			return err
		}
		list = []byte(strings.TrimSpace(b.String()))
	}
	s.held = fmt.Appendf(nil, "%s%s\n \"next_steps\": %s\n}\n", body, comma, list)
	return s.flush()
}
