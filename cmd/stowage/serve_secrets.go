package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/serve"
)

// leastWord is how long the token of Prometheus must be: a hundred bits of base64 or more.
const leastWord = 20

// readWord reads the token of Prometheus.
func readWord(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := readSecret(file, 4096)
	word := strings.TrimSpace(string(text))
	if err == nil && len(word) < leastWord {
		err = fmt.Errorf("it has %d characters, and a token needs %d", len(word), leastWord)
	}
	if err != nil {
		return "", &farm.Error{Op: "read token", Subject: file, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "make one: (umask 077; openssl rand -hex 20 > " + shellWord(file) + "), and name the file in Prometheus: authorization: {credentials_file: ...}"}
	}
	return word, nil
}

// readSecret reads a file that a person has named, and that not everybody on this machine may read.
func readSecret(file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Mode().Perm()&0o007 != 0 {
		err = fmt.Errorf("its mode is %#o: everybody on this machine may read it", info.Mode().Perm())
	}
	if err != nil {
		return nil, cause(err)
	}
	text, err := safefile.ReadInput(file, most)
	return text, cause(err)
}

// cause is an error without the name of the file, where a message has it already.
func cause(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}

// The tokens of viewers.
const (
	leastToken = 24
	mostTokens = 1 << 20 // bytes of the file
)

// readTokens reads who may look: a line is NAME TOKEN, empty, or a comment with #.
func readTokens(file string) ([]serve.Viewer, error) {
	remedy := "add a line: (umask 077; echo \"NAME $(openssl rand -hex 20)\" >> " + shellWord(file) + ")"
	text, err := readSecret(file, mostTokens)
	if err != nil {
		hint := remedy
		if !errors.Is(err, fs.ErrNotExist) {
			hint = "chown it to who runs serve, and chmod 600 " + shellWord(file)
		}
		return nil, &farm.Error{Op: "read tokens", Subject: file, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	all := []serve.Viewer{}
	names, tokens := map[string]int{}, map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		fault := faultOfLine(words)
		if fault == "" {
			switch name, token := words[0], words[1]; {
			case names[name] > 0:
				fault = fmt.Sprintf("%s has a token in line %d already", name, names[name])
			case tokens[token] > 0:
				fault = fmt.Sprintf("%s has the token of line %d", name, tokens[token])
			default:
				names[name], tokens[token] = i+1, i+1
				all = append(all, serve.Viewer{Name: name, Token: token})
				continue
			}
		}
		return nil, &farm.Error{Op: "read tokens", Subject: fmt.Sprintf("%s:%d", file, i+1), Err: fmt.Errorf("%w: %s", farm.ErrInput, fault), Hint: remedy}
	}
	return all, nil
}

// faultOfLine says what is wrong with a line by itself; never its token.
func faultOfLine(words []string) string {
	if len(words) != 2 {
		return fmt.Sprintf("it has %s, and a line is NAME TOKEN", farm.Counted(len(words), "word"))
	}
	token := words[1]
	if len(token) < leastToken {
		return fmt.Sprintf("the token of %s has %d characters, and it needs %d", words[0], len(token), leastToken)
	}
	if i := strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return fmt.Sprintf("character %d of %s's token is none of ASCII", i+1, words[0])
	}
	return ""
}

// followed is what was read of files, read again when one has changed.
type followed[T any] struct {
	what  string // for the log
	log   *slog.Logger
	files []string
	read  func() (T, error)
	keeps bool // while they cannot be read, what was read last counts; otherwise nothing does

	kept seen[T]
	mu   sync.Mutex
	last T
	said string
}

// start reads for the first time, where faults end the program.
func (f *followed[T]) start() error {
	value, err := f.kept.of(f.read, f.files...)
	f.last = value
	return err
}

// now is what the files say now. A fault is told once.
func (f *followed[T]) now() T {
	value, err := f.kept.of(f.read, f.files...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.last, f.said = value, ""
		return value
	}
	if text := blame(err); text != f.said {
		f.said = text
		f.log.Warn(f.what, "error", text)
	}
	if !f.keeps {
		var none T
		return none
	}
	return f.last
}
