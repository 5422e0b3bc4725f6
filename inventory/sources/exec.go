package sources

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"stowage/internal/nested"
	"stowage/inventory/claims"
)

// told is a claim as a program prints it: one JSON object after the other, or
// a list of them.
type told struct {
	Kind      claims.Kind `json:"kind"`
	Subject   string      `json:"subject"`
	Attribute string      `json:"attribute"`
	Value     any         `json:"value"`
	Place     string      `json:"place"`
	Line      int         `json:"line"`
	At        time.Time   `json:"at"`
	Unknown   bool        `json:"unknown"`
}

// usualWait is how long a program, a server or an API may take.
const usualWait = 30 * time.Second

// program runs the program of a source, in the workspace, and reads the claims
// that it prints.
func (r *reader) program(ctx context.Context) error {
	wait := r.spec.Timeout
	if wait == 0 {
		wait = usualWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	name := r.spec.Command[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	c := exec.CommandContext(ctx, name, r.spec.Command[1:]...)
	c.Dir, c.WaitDelay = r.dir, time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // with what it started
	var said, failed limited
	c.Stdout, c.Stderr = &said, &failed
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not end within %s", r.spec.Command[0], wait)
	case err != nil:
		text := strings.TrimSpace(failed.String())
		if i := strings.LastIndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
		return fmt.Errorf("%s: %w %s", r.spec.Command[0], err, text)
	case said.cut:
		return fmt.Errorf("%s printed more than %d MB", r.spec.Command[0], mostBytes>>20)
	}
	r.at = time.Now()
	r.toldClaims(r.spec.Command[0], said.Bytes())
	return nil
}

// limited keeps what a program prints, up to a limit.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > mostBytes {
		l.cut = true
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// toldClaims reads the claims of a program.
func (r *reader) toldClaims(file string, src []byte) {
	lines := newLines(src)
	if err := nested.JSON(src); err != nil {
		r.fault(claims.Place{Where: file}, "%s", err)
		return
	}
	trimmed := bytes.TrimSpace(src)
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	isList := len(trimmed) > 0 && trimmed[0] == '['
	if isList {
		_, _ = dec.Token() // the bracket, as was just seen
	}
	for n := 1; !isList || dec.More(); n++ {
		var t told
		err := dec.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		place := claims.Place{Where: "output of " + file, Line: lines.at(max(0, dec.InputOffset()-1))}
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			r.fault(place, "claim %d: %s is no %s", n, wrongType.Field, wrongType.Type)
			continue
		}
		if err != nil {
			r.fault(place, "claim %d is not JSON: %s", n, err)
			return
		}
		r.toldClaim(t, n, place)
	}
	if isList {
		if _, err := dec.Token(); err != nil {
			r.fault(claims.Place{Where: "output of " + file, Line: len(lines)}, "the list of claims does not end")
		}
	}
}

func (r *reader) toldClaim(t told, n int, place claims.Place) {
	if !slices.Contains(claims.Kinds, t.Kind) || t.Subject == "" {
		r.fault(place, "claim %d wants a kind (host, instance, pair or shard) and a subject", n)
		return
	}
	if t.Place != "" {
		place = claims.Place{Where: bare(t.Place), Line: t.Line}
	}
	value, ok := plainJSON(t.Value)
	if !ok {
		r.fault(place, "claim %d: the value is neither a word nor a number", n)
		return
	}
	before := len(r.claims)
	s := claims.Subject{Kind: t.Kind, Name: t.Subject}
	if t.Attribute == "" {
		r.say(s, "", "", place)
	} else {
		r.value(s, t.Attribute, value, place)
	}
	for i := before; i < len(r.claims); i++ {
		r.claims[i].At = t.At
		r.claims[i].Unknown = r.claims[i].Unknown || t.Unknown
	}
}

func plainJSON(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}
