package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
)

// ExecOptions say which program routes.
type ExecOptions struct {
	Program []string      // the program and its arguments
	Dir     string        // where it runs
	Lock    string        // a file that keeps several Stowages from calling it at once
	Timeout time.Duration // of one call; 0: 10 s
	// Gated: the owner vouches that behind a closed gate clients wait, by
	// Settle after apply has returned.
	Gated bool
	// Whole: the program sends all clients of a side to one server; a share of
	// 1 % or 10 % is not asked of it, nor a single shard.
	Whole  bool
	Settle time.Duration
}

// Exec routes by a program of the owner's, which keeps the table: it is called
// with a question as JSON on its standard input (docs/reference/routing.md). After
// every change the table is read back from it.
type Exec struct {
	o    ExecOptions
	lock *File // for its lock only
}

// NewExec is the router for this program. It does not call it.
func NewExec(o ExecOptions) *Exec {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	return &Exec{o: o, lock: NewFile(o.Lock)}
}

// question is what the program reads.
type question struct {
	FormatVersion int    `json:"format_version"` // 1
	Do            string `json:"do"`             // read, apply
	// From is the generation that the table given replaces: the program refuses
	// (exit code 3) when it holds another one. 0: it must hold none.
	From  int64  `json:"from"`
	Table *Table `json:"table,omitempty"`
}

// conflictCode is how the program says that it holds another generation.
const conflictCode = 3

var errConflict = errors.New("it holds another generation")

// Guarantee implements Router.
func (e *Exec) Guarantee() Guarantee {
	if e.o.Gated {
		return Guarantee{Kind: Gated, Settle: e.o.Settle, Shards: !e.o.Whole, Whole: e.o.Whole, Text: fmt.Sprintf("%s, if the owner of %s is right", gatedText, e.o.Program[0])}
	}
	return Guarantee{Kind: FlipOnly, Settle: e.o.Settle, Whole: e.o.Whole,
		Text: "a client that is not held back by what " + e.o.Program[0] + " sets off gets error 1290 for writes while the side goes out, and on its way back may read what is older than its own last write as far as replication lags"}
}

// Create makes the program hold a first table. It refuses to replace one.
func (e *Exec) Create(ctx context.Context, pairs map[farm.PairName]*Pair) error {
	return e.Restore(ctx, &Table{FormatVersion: FormatVersion, Pairs: pairs})
}

// Restore implements Maker.
func (e *Exec) Restore(ctx context.Context, last *Table) error {
	t := &Table{FormatVersion: FormatVersion, Generation: last.Generation + 1, Written: time.Now().UTC(), Pairs: last.Pairs}
	if err := t.Check(); err != nil {
		return e.fail("create routing", err)
	}
	unlock, err := e.lock.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := e.apply(ctx, 0, t); err != nil {
		return e.fail("create routing", err)
	}
	return nil
}

// Read implements Router.
func (e *Exec) Read(ctx context.Context) (*Table, error) {
	raw, err := e.call(ctx, question{Do: "read"})
	if err != nil {
		return nil, e.fail("read routing", err)
	}
	var t Table
	line, err := decode(raw, &t)
	if err == nil {
		line, err = 0, t.Check()
	}
	if err != nil {
		if line > 0 {
			err = fmt.Errorf("line %d of its answer: %w", line, err)
		}
		return nil, e.fail("read routing", fmt.Errorf("%w: %w: %w", farm.ErrInput, ErrUnreadable, err))
	}
	return &t, nil
}

// Change implements Router.
func (e *Exec) Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error {
	return e.change(ctx, func(t *Table) (*Table, bool, error) {
		next, changed, err := edited(t, pair, edit, e.o.Program[0])
		if changed {
			t.Pairs[pair] = next
		}
		return t, changed, err
	})
}

// change replaces the table by what edit makes of it.
func (e *Exec) change(ctx context.Context, edit func(*Table) (*Table, bool, error)) error {
	unlock, err := e.lock.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for try := 0; ; try++ {
		now, err := e.Read(ctx)
		if err != nil {
			return err
		}
		from := now.Generation
		t, changed, err := edit(now)
		if err != nil || !changed {
			return err
		}
		t.Generation++
		t.Written = time.Now().UTC()
		err = e.apply(ctx, from, t)
		if errors.Is(err, errConflict) && try < 20 {
			continue // somebody else has changed it: look again
		}
		if err != nil {
			return e.fail("change routing", e.settle(ctx, from, t, err))
		}
		return nil
	}
}

// apply gives the program a table and reads it back. A later generation than that of the table is another program's, which
// changed it in between: the program refuses whatever does not follow what it holds, so that one was made from this one.
func (e *Exec) apply(ctx context.Context, from int64, t *Table) error {
	if _, err := e.call(ctx, question{Do: "apply", From: from, Table: t}); err != nil {
		return err
	}
	back, err := e.Read(ctx)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if back.Generation <= t.Generation && !sameTable(back, t) {
		return fmt.Errorf("it said that it had applied generation %d, and shows generation %d otherwise", t.Generation, back.Generation)
	}
	return nil
}

// settle finds out what a call that failed has done. When it shows the old
// table, that is put in place once more as a generation of its own: whatever a
// killed call may have left under way names the generation before, and is
// refused from then on.
func (e *Exec) settle(ctx context.Context, from int64, t *Table, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleBudget)
	defer cancel()
	unknown := func(err error) error { return fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, errors.Join(cause, err)) }
	now, err := e.Read(ctx)
	if err != nil {
		return unknown(err)
	}
	switch {
	case sameTable(now, t):
		return nil
	case now.Generation != from:
		return unknown(fmt.Errorf("it shows generation %d", now.Generation))
	case !errors.Is(cause, errKilled):
		return cause // it ended by itself, and says no
	}
	now.Generation, now.Written = from+1, t.Written
	if err := e.apply(ctx, from, now); err != nil {
		return unknown(err)
	}
	return cause
}

func sameTable(a, b *Table) bool {
	return a.FormatVersion == b.FormatVersion && a.Generation == b.Generation && reflect.DeepEqual(a.Pairs, b.Pairs)
}

func (e *Exec) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &farm.Error{Op: op, Subject: e.o.Program[0], Err: err,
		Hint: "docs/reference/routing.md says what the program is asked and how it answers; try it by hand: echo '{\"format_version\":1,\"do\":\"read\"}' | " + strings.Join(e.o.Program, " ")}
}

// errKilled: the program did not end in time.
var errKilled = errors.New("it was killed")

// call runs the program once. Its whole process group is killed when it takes
// too long.
func (e *Exec) call(ctx context.Context, q question) ([]byte, error) {
	q.FormatVersion = FormatVersion
	in, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.o.Program[0], e.o.Program[1:]...)
	cmd.Dir, cmd.Env = e.o.Dir, os.Environ()
	cmd.Stdin = bytes.NewReader(in)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for a child that left the group and holds its output open
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: no end to %q after %v: %w", errKilled, q.Do, e.o.Timeout, ctx.Err())
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.Bytes(), nil
	case errors.As(err, &exit) && exit.ExitCode() == conflictCode:
		return nil, errConflict
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		return nil, fmt.Errorf("%w: %w", errKilled, err)
	}
	return nil, fmt.Errorf("asked to %s: %w: %s", q.Do, err, lastLine(said.String()))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
