package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/optionfile"
)

// Send implements Host with mariadb-backup.
func (l *Local) Send(ctx context.Context, source Instance, login Login, w io.Writer) error {
	options, err := l.loginFile(source, login)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(options))
	// log-copy-interval: with the default of 1000 ms every commit on the
	// source waits up to a second at the end of the backup.
	cmd := l.command(ctx, l.backup, "--defaults-file="+options, "--backup", "--stream=mbstream",
		"--log-copy-interval=10", "--parallel=2", "--datadir="+source.Datadir, "--target-dir="+filepath.Dir(options))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	err = pour(cmd, w)
	if err == nil && !bytes.Contains(messages.Bytes(), []byte("completed OK!")) {
		err = errors.New("it ended without saying completed OK")
	}
	if err != nil {
		return &farm.Error{Op: "back up", Subject: string(source.Name), Err: fmt.Errorf("%w:\n  %s", err, lastLines(messages.Bytes(), 5))}
	}
	return nil
}

// loginPrefix begins the name of the directory that holds a backup's login; the
// process that made it follows.
const loginPrefix = ".stowage-seed-"

// loginDir is a new directory beside the source's data, so that nothing is left
// outside of an instance's own place even when we are killed; what a killed
// program left there is removed by the next.
func loginDir(source Instance) (string, error) {
	beside := filepath.Dir(source.Datadir)
	left, _ := filepath.Glob(filepath.Join(beside, loginPrefix+"*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), loginPrefix), "-")
		if _, err := os.Stat("/proc/" + pid); err != nil {
			_ = os.RemoveAll(dir) // it is tried again by the next
		}
	}
	name := fmt.Sprintf("%s%d-*", loginPrefix, os.Getpid())
	if dir, err := os.MkdirTemp(beside, name); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", name) // data below a directory that is not ours to write in
}

// loginFile is an option file that only the servers' account can read.
func (l *Local) loginFile(source Instance, login Login) (string, error) {
	fail := func(err error) (string, error) {
		return "", &farm.Error{Op: "write login for backup", Subject: login.Address, Err: err}
	}
	host, port, err := net.SplitHostPort(login.Address)
	if err != nil {
		return fail(err)
	}
	dir, err := loginDir(source)
	if err != nil {
		return fail(err)
	}
	path := filepath.Join(dir, "login.cnf")
	text := fmt.Sprintf("[mariadb-backup]\nuser=%s\npassword=%s\nhost=%s\nport=%s\nprotocol=tcp\n",
		optionfile.Text(login.User), optionfile.Text(login.Password), host, port)
	err = errors.Join(os.WriteFile(path, []byte(text), 0o600), l.Own(path), l.Own(dir))
	if err != nil {
		os.RemoveAll(dir)
		return fail(err)
	}
	return path, nil
}

// pour runs a command and writes what it prints to w. The pipe between is as
// large as the kernel gives to everybody, and is emptied in large pieces: with
// the usual 64 KB both sides wait for each other all the time.
func pour(cmd *exec.Cmd, w io.Writer) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	_, _ = unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, widePipe) // it only is slower without
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return err
	}
	gently(cmd.Process.Pid)
	_, copyErr := io.CopyBuffer(w, struct{ io.Reader }{out}, make([]byte, 256<<10)) // not os.File.WriteTo, whose pieces are small
	out.Close()                                                                     // nobody listens any more: the command ends
	return errors.Join(copyErr, cmd.Wait())
}

// widePipe is the default of /proc/sys/fs/pipe-max-size.
const widePipe = 1 << 20

// Receive implements Host. It does what mbstream -x does, which is another
// program to write through a pipe to.
func (l *Local) Receive(ctx context.Context, i Instance, r io.Reader) error {
	u, err := openUnpacker(i.Datadir, r, l.credential)
	if err == nil {
		err = u.run(ctx)
	}
	if err != nil {
		return &farm.Error{Op: "unpack", Subject: string(i.Name), Err: err}
	}
	return nil
}

// Prepare implements Host.
func (l *Local) Prepare(ctx context.Context, i Instance) (SeedPoint, error) {
	// The copy's own option file, and no other: mariadb-backup 10.11 reads it
	// by itself, 11.8 with --no-defaults does not, and then takes a system
	// tablespace of another size than the default for a broken one.
	cmd := l.command(ctx, l.backup, "--defaults-file="+filepath.Join(i.Datadir, "backup-my.cnf"), "--prepare", "--use-memory=64M", "--target-dir="+i.Datadir)
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte("completed OK!")) {
		err = errors.New("it ended without saying completed OK")
	}
	if err != nil {
		return SeedPoint{}, &farm.Error{Op: "prepare copy", Subject: string(i.Name), Err: fmt.Errorf("%w:\n  %s", err, lastLines(out, 5))}
	}
	return readSeedPoint(i)
}

// readSeedPoint reads where the copy stands: file and offset. The third field,
// a GTID, is not used: on a source that is itself a replica it can lie behind
// the data, and the first event replicated would then be a duplicate.
func readSeedPoint(i Instance) (SeedPoint, error) {
	fail := func(err error) (SeedPoint, error) {
		return SeedPoint{}, &farm.Error{Op: "read position of copy", Subject: string(i.Name), Err: err}
	}
	for _, name := range []string{"xtrabackup_binlog_info", "mariadb_backup_binlog_info"} {
		raw, err := os.ReadFile(filepath.Join(i.Datadir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fail(err)
		}
		fields := strings.Fields(string(raw))
		if len(fields) < 2 {
			return fail(fmt.Errorf("%s holds %q, want file and offset", name, raw))
		}
		offset, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return fail(err)
		}
		return SeedPoint{File: fields[0], Offset: offset}, nil
	}
	return fail(errors.New("the copy holds no binary log position; is log_bin on at the source?"))
}
