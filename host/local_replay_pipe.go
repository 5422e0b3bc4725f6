package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/keeper"
)

// pipe is a mariadb client that waits for statements, and what feeds it.
//
// The client holds the writing end of its own input, too, so that it never sees an end of it: at an end it would send what it has, be it
// half a statement. It ends when it is killed: by us once it has answered a last question, or by the kernel when we are gone.
type pipe struct {
	local   *Local
	dump    string // mariadb-binlog
	told    func(done, all int64)
	login   string // option file, in a directory of its own
	client  *exec.Cmd
	in      *os.File // writing end of the client's input
	said    bytes.Buffer
	answers chan string
	ended   chan struct{} // closed when the client has ended
	err     error         // of the client, once ended is closed
}

// openPipe starts the client.
func (l *Local) openPipe(ctx context.Context, r Replaying) (_ *pipe, err error) {
	p := &pipe{local: l, told: r.Told, answers: make(chan string), ended: make(chan struct{})}
	var program string
	for _, x := range []struct {
		into  *string
		names []string
	}{{&p.dump, []string{"mariadb-binlog", "mysqlbinlog"}}, {&program, []string{"mariadb", "mysql"}}} {
		if *x.into, err = find(x.names); err != nil {
			return nil, &farm.Error{Op: "find program", Subject: x.names[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "apt-get install mariadb-client"}
		}
	}
	if p.login, err = l.loginFile("client", r.Instance, r.Login, l.credential); err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(filepath.Dir(p.login)))
	}
	defer out.Close()
	_, _ = unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, widePipe) // it only is slower without
	p.in = in
	// skip-reconnect: a session that was made anew would go on in the middle of a transaction, with other settings.
	p.client = l.command(ctx, program, "--defaults-file="+p.login, "--binary-mode", "--batch", "--skip-column-names", "--unbuffered", "--skip-reconnect",
		"--local-infile=1", "--max-allowed-packet=1G")
	p.client.Stdin, p.client.ExtraFiles, p.client.Stderr = out, []*os.File{in}, &p.said
	answers, err := p.client.StdoutPipe()
	if err == nil {
		err = keeper.Start(p.client)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close(), os.RemoveAll(filepath.Dir(p.login)))
	}
	go p.listen(answers)
	return p, nil
}

// listen hands on what the client prints, and notes its end.
func (p *pipe) listen(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<30) // a statement of the log may print something, too
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), endOfPortion) {
			p.answers <- lines.Text()
		}
	}
	_, _ = io.Copy(io.Discard, r)
	p.err = p.client.Wait()
	close(p.ended)
}

// endOfPortion begins the answer to the question behind each portion. An answer says that all before it was done: the client ends at the
// first statement that fails.
const endOfPortion = "stowage-replayed-"

// run sends all portions and waits until the instance has them.
func (p *pipe) run(ctx context.Context, g *aLog, portions []portion) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a client that has ended takes nothing more
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	all, done := int64(0), int64(0)
	for _, x := range portions {
		all += x.to - x.from
	}
	for n, x := range portions {
		err := p.send(ctx, g, x, func(sent int64) { p.tell(done+sent, all) })
		if err == nil {
			err = p.ask(ctx, fmt.Sprintf("%s%d", endOfPortion, n))
		}
		if err != nil {
			return p.because(fmt.Errorf("%s from %d to %d: %w", x.file, x.from, x.to, err))
		}
		done += x.to - x.from
		p.tell(done, all)
	}
	return nil
}

func (p *pipe) tell(done, all int64) {
	if p.told != nil {
		p.told(done, all)
	}
}

// send prints a portion into the client's input.
func (p *pipe) send(ctx context.Context, g *aLog, x portion, tell func(int64)) error {
	file, err := g.dir.OpenFile(x.file, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	// The events come through its input, because the servers' account may not open what an archive has.
	cmd := p.local.command(ctx, p.dump, "--no-defaults", "--verify-binlog-checksum", "--local-load="+filepath.Dir(p.login), "-")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = p.in, &said
	into, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := keeper.Start(cmd); err != nil {
		return err
	}
	keeper.Lower(cmd.Process.Pid)
	fedErr := feed(ctx, &g.files[g.file(x.file)], file, x, into, tell)
	if fedErr != nil { // an input that ends would look like one that is whole
		_ = cmd.Process.Kill()
	}
	err = errors.Join(into.Close(), cmd.Wait())
	if fedErr != nil && !errors.Is(fedErr, syscall.EPIPE) {
		return fedErr
	}
	if err == nil && said.Len() > 0 { // it ends with 0 also where it warns
		err = errors.New("it warned")
	}
	if err != nil {
		return fmt.Errorf("mariadb-binlog: %w:\n  %s", errors.Join(err, fedErr), lastLines(said.Bytes(), 5))
	}
	return nil
}

// ask waits until everything before has been done.
func (p *pipe) ask(ctx context.Context, word string) error {
	if _, err := fmt.Fprintf(p.in, "\nSELECT '%s';\n", word); err != nil {
		return err
	}
	select {
	case got := <-p.answers:
		if got != word {
			return fmt.Errorf("the client answered %q, and %q was asked for", got, word)
		}
		return nil
	case <-p.ended:
		return errors.New("the client ended early")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// because adds why the client ended, where it has: whatever else failed failed for that.
func (p *pipe) because(err error) error {
	select {
	case <-p.ended:
	case <-time.After(time.Second): // it still runs, so it is not the cause
		return err
	}
	err = fmt.Errorf("%w; the client: %w:\n  %s", err, p.err, lastLines(p.said.Bytes(), 5))
	if bytes.Contains(p.said.Bytes(), []byte(outOfOrder)) { // to go on behind that number would leave a transaction of the log out
		return fmt.Errorf("%w: the instance has another transaction under this number: %w", farm.ErrRefused, err)
	}
	return err
}

// outOfOrder is how the client begins what gtid_strict_mode refuses.
const outOfOrder = "ERROR 1950 "

// close ends the client before its input: see pipe.
func (p *pipe) close() error {
	_ = p.client.Process.Kill() // it may have ended
	go func() {
		for range p.answers { // nobody asks any more
		}
	}()
	<-p.ended
	close(p.answers)
	return errors.Join(p.in.Close(), os.RemoveAll(filepath.Dir(p.login)))
}
