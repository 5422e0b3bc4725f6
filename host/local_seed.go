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
	"syscall"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/keeper"
	"stowage/internal/optionfile"
	"stowage/internal/safefile"
)

// Send implements Host, of a server with mariadb-backup.
func (l *Local) Send(ctx context.Context, from Origin, w io.Writer) error {
	if from.Logs != nil && from.Stored.Place.Restic == "" {
		return l.sendLent(ctx, from.Stored.Place, from.Instance.Name, *from.Logs, w)
	}
	if from.Logs != nil {
		return l.sendPieces(ctx, from.Stored, from.Instance.Name, *from.Logs, w)
	}
	if from.Piece != nil {
		return l.sendPiece(ctx, from.Instance, from.Spool, *from.Piece, w)
	}
	if s := from.Stored; s.Set != "" {
		return l.Vault(s.Place).Get(ctx, s.Set, s.Name, w)
	}
	if from.Dump != nil {
		return l.dump(ctx, from, w)
	}
	if from.Files {
		return l.sendFiles(ctx, from.Instance, w)
	}
	source := from.Instance
	owner := l.ownerOf(source.Datadir)
	options, err := l.loginFile("mariadb-backup", source, from.Login, owner)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(options))
	// With the default of 1000 ms every commit on the source waits up to a second at the end of the backup. Each look at the log copies 2 MB of it,
	// and the server finds less of its own data in the processor's caches.
	interval := "10"
	if from.Gently {
		interval = "100"
	}
	args := []string{"--defaults-file=" + options, "--backup", "--stream=mbstream", "--log-copy-interval=" + interval, "--datadir=" + source.Datadir, "--target-dir=" + filepath.Dir(options)}
	if !from.InOrder {
		args = append(args, "--parallel=2")
	}
	if from.Since > 0 {
		args = append(args, "--incremental-lsn="+strconv.FormatUint(from.Since, 10))
	}
	cmd := commandAs(ctx, owner, l.backup, args...)
	said := &backupWatch{locks: func() { hasten(cmd, w) }, kill: func() { _ = cmd.Process.Kill() }} // it may have ended just now
	cmd.Stderr = said
	err = pour(cmd, w, from.Gently)
	said.stop()
	switch {
	case said.ended.Load() && isExit(err):
		l.log.Warn("mariadb-backup has copied everything and did not end; it was killed, and its copy is whole", "instance", source.Name)
		err = nil
	case err == nil && !bytes.Contains(said.all, []byte("completed OK!")):
		err = errors.New("it ended without saying completed OK")
	}
	if err != nil {
		return &farm.Error{Op: "back up", Subject: string(source.Name), Err: fmt.Errorf("%w: %s", err, complaints(said.all))}
	}
	return nil
}

// loginPrefix begins the name of the directory that holds a backup's login; the
// process that made it follows.
const loginPrefix = ".stowage-seed-"

// loginDir is a new directory beside the source's data, so that nothing is left
// outside of an instance's own place even when we are killed; what a killed
// program left there is removed by the next.
func loginDir(source Instance) (*safefile.Dir, error) {
	name := fmt.Sprintf("%s%d-", loginPrefix, os.Getpid())
	beside, err := safefile.OpenDir(filepath.Dir(source.Datadir))
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	names, _ := beside.Names() // none, where it may not be listed
	for _, n := range names {
		rest, ours := strings.CutPrefix(n, loginPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		if _, err := os.Stat("/proc/" + pid); ours && err != nil {
			_ = beside.RemoveAll(n) // it is tried again by the next
		}
	}
	if dir, err := beside.MkdirTemp(name); err == nil {
		return dir, nil
	}
	elsewhere, err := safefile.OpenDir(os.TempDir()) // data below a directory that is not ours to write in
	if err != nil {
		return nil, err
	}
	defer elsewhere.Close()
	return elsewhere.MkdirTemp(name)
}

// hand writes files into a new directory of ours, and gives all to an account, the directory last: until then nobody else can get in.
func hand(dir *safefile.Dir, files map[string]string, to *syscall.Credential) error {
	for name, content := range files {
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(content)
		if err = errors.Join(err, own(f, to), f.Close()); err != nil {
			return err
		}
	}
	return own(dir, to)
}

// loginFile writes an option file that only one account can read. group is the one that the program reads.
func (l *Local) loginFile(group string, source Instance, login Login, reader *syscall.Credential) (string, error) {
	fail := func(err error) (string, error) {
		return "", &farm.Error{Op: "write login for " + group, Subject: login.Address, Err: err}
	}
	where, err := login.where()
	if err != nil {
		return fail(err)
	}
	dir, err := loginDir(source)
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	text := fmt.Sprintf("[%s]\nuser=%s\npassword=%s\n%s", group, optionfile.Text(login.User), optionfile.Text(login.Password), where)
	files := map[string]string{}
	for _, f := range []struct{ option, name, content string }{
		{"ssl-ca", "ca.pem", login.CA}, {"ssl-cert", "cert.pem", login.Cert}, {"ssl-key", "key.pem", login.Key},
	} {
		if f.content != "" {
			files[f.name] = f.content
			text += f.option + "=" + optionfile.Text(filepath.Join(dir.Path(), f.name)) + "\n"
		}
	}
	if login.CA != "" && !login.AnyName {
		text += "ssl-verify-server-cert\n"
	}
	files["login.cnf"] = text
	if err := hand(dir, files, reader); err != nil {
		_ = os.RemoveAll(dir.Path()) // the error above is the one that matters
		return fail(err)
	}
	return filepath.Join(dir.Path(), "login.cnf"), nil
}

// where says in an option file how the server is reached.
func (login Login) where() (string, error) {
	if filepath.IsAbs(login.Address) {
		return "socket=" + optionfile.Text(login.Address) + "\nprotocol=socket\n", nil
	}
	host, port, err := net.SplitHostPort(login.Address)
	return fmt.Sprintf("host=%s\nport=%s\nprotocol=tcp\n", host, port), err
}

// pour runs a command and writes what it prints to w. An error that is an *exec.ExitError says that w has all of that. The pipe between is as
// large as the kernel gives to everybody, and is emptied in large pieces: with
// the usual 64 KB both sides wait for each other all the time.
func pour(cmd *exec.Cmd, w io.Writer, gently bool) error {
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
	if gently {
		keeper.Lower(cmd.Process.Pid)
	}
	_, copyErr := io.CopyBuffer(w, struct{ io.Reader }{out}, make([]byte, 256<<10)) // not os.File.WriteTo, whose pieces are small
	out.Close()                                                                     // nobody listens any more: the command ends
	err = cmd.Wait()
	if copyErr != nil {
		err = errors.Join(copyErr, err)
	}
	return err
}

// isExit reports whether err is how a command ended, and nothing else.
func isExit(err error) bool {
	_, is := err.(*exec.ExitError) //nolint:errorlint // joined with another it is not
	return is
}

// widePipe is the default of /proc/sys/fs/pipe-max-size.
const widePipe = 1 << 20

// Receive implements Host. Into a data directory it does what mbstream -x does,
// which is another program to write through a pipe to.
func (l *Local) Receive(ctx context.Context, to Destination, r io.Reader) (Copied, error) {
	if to.Piece != nil {
		return l.storePiece(ctx, to.Stored, *to.Piece, r)
	}
	if to.Spool != "" {
		return l.receiveTail(ctx, to.Instance, to.Spool, r)
	}
	if to.Logs {
		return l.pull(ctx, to.Instance, r)
	}
	if to.Stored.Set != "" {
		return l.store(ctx, to.Stored, r)
	}
	if to.Load != nil {
		return l.load(ctx, to, r)
	}
	if to.Files {
		return l.receiveFiles(ctx, to.Instance, r)
	}
	i := to.Instance
	dir, err := i.Datadir, error(nil)
	if to.Delta {
		dir, err = l.makeDelta(i)
	}
	var u *unpacker
	if err == nil {
		u, err = openUnpacker(dir, r, l.credential)
	}
	if err == nil {
		err = u.run(ctx)
	}
	if err != nil {
		return Copied{}, &farm.Error{Op: "unpack", Subject: string(i.Name), Err: err}
	}
	return Copied{}, nil
}

// Prepare implements Host.
func (l *Local) Prepare(ctx context.Context, i Instance) (SeedPoint, error) {
	// The copy's own option file, and no other: mariadb-backup 10.11 reads it
	// by itself, 11.8 with --no-defaults does not, and then takes a system
	// tablespace of another size than the default for a broken one.
	args := []string{"--defaults-file=" + filepath.Join(i.Datadir, "backup-my.cnf"), "--prepare", "--use-memory=64M", "--target-dir=" + i.Datadir}
	delta := hasDelta(i)
	if delta {
		args = append(args, "--incremental-dir="+deltaDir(i))
	}
	if err := gatherTables(i); err != nil {
		return SeedPoint{}, &farm.Error{Op: "prepare copy", Subject: string(i.Name), Err: err}
	}
	cmd := l.command(ctx, l.backup, args...)
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte("completed OK!")) {
		err = errors.New("it ended without saying completed OK")
	}
	if err != nil {
		return SeedPoint{}, &farm.Error{Op: "prepare copy", Subject: string(i.Name), Err: fmt.Errorf("%w:\n  %s", err, lastLines(out, 5))}
	}
	if delta {
		if err := removeDelta(i); err != nil {
			return SeedPoint{}, &farm.Error{Op: "remove what was applied", Subject: deltaDir(i), Err: err}
		}
	}
	if err := l.settleTables(i); err != nil {
		return SeedPoint{}, &farm.Error{Op: "give tables with DATA DIRECTORY a place", Subject: string(i.Name), Err: err}
	}
	return readSeedPoint(i)
}

// readSeedPoint reads where the copy stands: file and offset. The third field,
// a GTID, is not used: on a source that is itself a replica it can be behind
// the data, and the first event replicated would then be a duplicate.
func readSeedPoint(i Instance) (SeedPoint, error) {
	fail := func(err error) (SeedPoint, error) {
		return SeedPoint{}, &farm.Error{Op: "read position of copy", Subject: string(i.Name), Err: err}
	}
	for _, name := range placeFiles {
		raw, err := safefile.ReadFile(filepath.Join(i.Datadir, name), placeFile)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fail(err)
		}
		at, err := parseSeedPoint(name, raw)
		if err != nil {
			return fail(err)
		}
		return at, nil
	}
	return fail(errors.New("the copy holds no binary log position; is log_bin on at the source?"))
}

// placeFiles are the names that a copy's place in the binary log has, by version, and placeFile is more than such a file holds.
var placeFiles = []string{"xtrabackup_binlog_info", "mariadb_backup_binlog_info"}

const placeFile = 64 << 10

func parseSeedPoint(name string, raw []byte) (SeedPoint, error) {
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return SeedPoint{}, fmt.Errorf("%s holds %q, want file and offset", name, raw)
	}
	offset, err := strconv.ParseInt(fields[1], 10, 64)
	return SeedPoint{File: fields[0], Offset: offset}, err
}
