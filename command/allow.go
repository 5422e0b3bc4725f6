package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/safefile"
)

// Rule is one line of a host owner's list: a program by its whole path, and a
// pattern for each of its arguments. A * in a pattern stands for any text, also
// for none; the word ... at the end for any further arguments.
type Rule struct {
	Line    int
	Program string
	Args    []string
	Open    bool // any further arguments
}

// Allows reports whether a command is one of the rule's.
func (r Rule) Allows(argv []string) bool {
	if len(argv) == 0 || argv[0] != r.Program {
		return false
	}
	args := argv[1:]
	if len(args) < len(r.Args) || len(args) > len(r.Args) && !r.Open {
		return false
	}
	for n, pattern := range r.Args {
		if !matches(pattern, args[n]) {
			return false
		}
	}
	return true
}

// matches is a pattern in which * stands for any text. It takes the first place
// where each piece fits, which finds a match where there is one.
func matches(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	last := pieces[len(pieces)-1]
	for _, p := range pieces[1 : len(pieces)-1] {
		at := strings.Index(rest, p)
		if at < 0 {
			return false
		}
		rest = rest[at+len(p):]
	}
	return strings.HasSuffix(rest, last)
}

// ParseRules reads a list. file is its name for messages.
func ParseRules(file, text string) ([]Rule, error) {
	var out []Rule
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		bad := func(format string, args ...any) ([]Rule, error) {
			return nil, &farm.Error{Op: "read list of commands", Subject: fmt.Sprintf("%s:%d", file, n+1), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrInput}, args...)...),
				Hint: "a line is the whole path of a program and a pattern for each argument; docs/guide/roll.md has examples"}
		}
		r := Rule{Line: n + 1, Program: words[0], Args: words[1:]}
		if !filepath.IsAbs(r.Program) || r.Program != filepath.Clean(r.Program) || strings.Contains(r.Program, "*") {
			return bad("%q is not the whole path of one program", r.Program)
		}
		if at := slices.Index(r.Args, "..."); at >= 0 {
			if at != len(r.Args)-1 {
				return bad("... stands for any further arguments, and only at the end")
			}
			r.Args, r.Open = r.Args[:at], true
		}
		out = append(out, r)
	}
	return out, nil
}

// Allowed is a host owner's list of commands in a file, which is read anew for
// each order. "" is not a list: no command is allowed.
type Allowed string

// Read reads the list. It refuses one that another user could have written.
func (a Allowed) Read() ([]Rule, error) {
	fail := func(err error) ([]Rule, error) {
		return nil, &farm.Error{Op: "read list of commands", Subject: string(a), Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "no command runs on this host until the list can be read"}
	}
	raw, err := safefile.ReadInput(string(a), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(errors.New("it is not there"))
	}
	if err == nil {
		err = safefile.Trusted(string(a))
	}
	if err != nil {
		return fail(err)
	}
	return ParseRules(string(a), string(raw))
}

// allow is nil when the list has a rule for the command.
func (a Allowed) allow(argv []string) error {
	if a == "" {
		return &farm.Error{Op: "run", Subject: argv[0], Err: fmt.Errorf("%w: this host's agent runs no commands", farm.ErrRefused),
			Hint: "the host's owner starts it with --allow FILE, a list of commands; docs/guide/roll.md"}
	}
	rules, err := a.Read()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return r.Allows(argv) }) {
		return nil
	}
	return &farm.Error{Op: "run", Subject: argv[0], Err: fmt.Errorf("%w: %q is not in the list of commands of this host's owner, %s", farm.ErrRefused, Line(argv), string(a)),
		Hint: "is it meant to run there? The host's owner adds a line to that file; docs/guide/roll.md"}
}
