package vault

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/internal/keeper"
	"stowage/internal/lazy"
)

func (r *Restic) Put(ctx context.Context, set, name string, fill func(io.Writer) error) (Part, error) {
	p, err := r.put(ctx, set, name, fill)
	if err != nil {
		return Part{}, failed("keep", set+"/"+name, r.place.Subject(), r.remedied(err))
	}
	return p, nil
}

func (r *Restic) put(ctx context.Context, set, name string, fill func(io.Writer) error) (p Part, err error) {
	if err := checkNames(set, name); err != nil {
		return p, err
	}
	token := rand.Text()
	b, err := r.beginPart(ctx, set, name, token)
	if err != nil {
		return p, err
	}
	if err := b.feed(fill); err != nil {
		return p, err
	}
	// What id the snapshot has costs a restic more. Seal asks for all parts at once, and finds those that are not there.
	return Part{Name: name, File: token, Raw: b.n, Bytes: stored(b.out.String()), SHA256: fmt.Sprintf("%x", b.hash.Sum(nil))}, nil
}

// beginPart starts a backup, and makes the repository first where there is none. While restic opens the repository, for half a second, another
// one looks whether the set is whole. That one takes no lock: it reads snapshots only.
func (r *Restic) beginPart(ctx context.Context, set, name, token string) (*begun, error) {
	asked := make(chan error, 1)
	go func() { asked <- r.notWhole(ctx, set) }()
	begin := func() (*begun, error) { return r.begin(ctx, pathOf(set, name), tagSet+set, tagPart+name, tagPut+token) }
	b, err := begin()
	whole := <-asked
	if isAbsent(err) {
		if err := r.initialise(ctx); err != nil {
			return nil, err
		}
		b, err = begin()
	}
	switch {
	case err != nil:
		return nil, err
	case whole != nil:
		_ = b.stop() // it has read nothing, and saves nothing
		return nil, errors.Join(whole, b.in.Close())
	}
	return b, nil
}

// notWhole is nil for a set without a manifest.
func (r *Restic) notWhole(ctx context.Context, set string) error {
	all, err := r.with("--no-lock").snapshots(ctx, tagSet+set)
	switch {
	case slices.ContainsFunc(all, snapshot.isManifest):
		return refused("begin", set, "the set is whole, and nothing is written over", "use another name")
	case errors.Is(err, errAbsent), errors.Is(err, ErrDamaged): // an old snapshot that is damaged is no reason not to keep a new one
		return nil
	}
	return err
}

// begun is a restic that reads a stream. It makes a snapshot of it when the stream ends, whatever the reason: so the stream is only
// ended when it is whole, and restic is killed before that otherwise.
type begun struct {
	r    *Restic
	ctx  context.Context
	cmd  *exec.Cmd
	in   *os.File
	out  startWatch
	said lastWords
	done chan error

	n    int64
	hash hash.Hash
	bad  error // restic no longer reads
}

// readyPatience is how long restic may read its index until the stream begins all the same: where a version of restic says it in other
// words.
const readyPatience = 2 * time.Minute

// begin starts a backup, and returns when restic has its lock and reads. Nothing of the stream has been asked for by then, so a lock
// of somebody else's can be waited for.
func (r *Restic) begin(ctx context.Context, path string, tags ...string) (*begun, error) {
	var b *begun
	err := r.unlocked(ctx, func() error {
		in, feed, err := pipe()
		if err != nil {
			return err
		}
		b = &begun{r: r, ctx: ctx, in: feed, done: make(chan error, 1), hash: sha256.New(), out: startWatch{ready: make(chan struct{})}}
		b.cmd = r.command(ctx, &b.said, backupArgs(path, tags)...)
		b.cmd.Stdin, b.cmd.Stdout = in, &b.out
		err = keeper.StartGently(b.cmd)
		if err = errors.Join(err, in.Close()); err != nil {
			return errors.Join(context.Cause(ctx), err, feed.Close())
		}
		go func() { b.done <- b.cmd.Wait() }()
		select {
		case <-b.out.ready:
		case <-time.After(readyPatience):
		case err := <-b.done:
			if err == nil {
				err = errors.New("it ended before it read anything")
			}
			return errors.Join(r.told(ctx, err, &b.said), feed.Close())
		}
		return nil
	})
	return b, err
}

func backupArgs(path string, tags []string) []string {
	args := []string{"backup", "--verbose", "--stdin", "--stdin-filename", path, "--host", "stowage", "--tag", tagOurs}
	for _, t := range tags {
		args = append(args, "--tag", t)
	}
	return args
}

// feed hands restic the stream, and has it make a snapshot only if all of it came.
func (b *begun) feed(fill func(io.Writer) error) error {
	err := fill(b)
	if err == nil {
		err = context.Cause(b.ctx)
	}
	if err == nil && b.n == 0 {
		err = errEmpty
	}
	var ended error
	if err != nil {
		ended = b.stop()
	}
	if closed := b.in.Close(); err == nil { // the end of the stream
		ended = errors.Join(<-b.done, closed)
	}
	switch said := b.r.told(b.ctx, ended, &b.said); {
	case b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case err == nil || b.bad != nil && errors.Is(err, b.bad):
		return said // why restic ended says more than that it did
	}
	return err
}

// stop ends restic while its input is open. It removes its lock when it has the time for it.
func (b *begun) stop() error {
	if b.bad != nil { // it ends by itself, and is about to say why
		select {
		case err := <-b.done:
			return err
		case <-time.After(interruptPatience):
		}
	}
	_ = b.cmd.Process.Signal(syscall.SIGINT) // it may have ended
	select {
	case err := <-b.done:
		return err
	case <-time.After(interruptPatience):
		_ = b.cmd.Process.Kill()
		return <-b.done
	}
}

func (b *begun) Write(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	n, err := b.in.Write(p)
	b.hash.Write(p[:n])
	b.n += int64(n)
	if err != nil && b.bad == nil {
		b.bad = err
	}
	return n, err
}

// startWatch keeps what restic prints, and tells when it says that it has begun.
type startWatch struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	told  bool
}

func (w *startWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text.Len() < mostSaid {
		w.text.Write(p)
	}
	if !w.told && bytes.Contains(w.text.Bytes(), []byte("start backup on ")) {
		w.told = true
		close(w.ready)
	}
	return len(p), nil
}

func (w *startWatch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// storedSize is what restic says that a backup has added, as it is stored: "Added to the repository: 28.612 MiB (28.614 MiB stored)".
var storedSize = lazy.Regexp(`\(([0-9.]+) (B|KiB|MiB|GiB|TiB) stored\)`)

// stored is that in bytes, to a thousandth; 0 where restic does not say it.
func stored(text string) int64 {
	m := storedSize().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	return int64(n * float64(int64(1)<<(10*slices.Index([]string{"B", "KiB", "MiB", "GiB", "TiB"}, m[2]))))
}

// putText keeps a small file as a snapshot. restic reads it from memory that has all of it: however we end, there is never a part of it.
func (r *Restic) putText(ctx context.Context, path, text string, tags ...string) error {
	fd, err := unix.MemfdCreate("stowage", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "text")
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return r.putFile(ctx, path, f, tags...)
}
