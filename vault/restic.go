package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/safefile"
)

// Restic is a vault in a repository of restic's. Every part is a snapshot of one file, and so are the texts and the manifest; a set is
// whole when there is a snapshot of its manifest. docs/reference/vault.md says how to read it with restic alone.
type Restic struct {
	place    Place
	program  string
	env      []string
	options  []string
	patience time.Duration // how long a lock of somebody else's is waited for

	mu        sync.Mutex
	made      bool
	manifests map[string]Manifest // by the ids of their snapshots
}

// lockPatience is how long a backup waits for a prune, a check or a forget of somebody else's to end.
const lockPatience = 15 * time.Minute

func openRestic(p Place) (Vault, error) {
	fail := func(err error, hint string) (Vault, error) {
		return nil, &farm.Error{Op: "open vault", Subject: p.Subject(), Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	if p.PasswordFile == "" {
		return fail(errors.New("a repository needs password_file"), "write a long password into a file that only root can read, and keep a copy of it elsewhere: without it the backups are lost")
	}
	for _, path := range []string{p.PasswordFile, p.EnvFile} {
		if path != "" && !filepath.IsAbs(path) {
			return fail(fmt.Errorf("%q is not the absolute path of a file", path), "")
		}
	}
	if err := safefile.Trusted(p.PasswordFile); err != nil {
		return fail(err, "only root and Stowage's own account may be able to change it")
	}
	if raw, err := safefile.ReadFile(p.PasswordFile, envLimit); err != nil {
		return fail(err, "")
	} else if strings.TrimSpace(string(raw)) == "" {
		return fail(fmt.Errorf("the password file %s is empty", p.PasswordFile), "")
	}
	var env []string
	if p.EnvFile != "" {
		var err error
		if env, err = readEnv(p.EnvFile); err != nil {
			return nil, err
		}
	}
	repository, err := addressOf(p.Restic, env)
	if err != nil {
		return fail(err, "")
	}
	options, err := sftpOptions(p.Restic)
	if err != nil {
		return fail(err, "")
	}
	program, err := exec.LookPath("restic")
	if err != nil {
		return fail(err, "apt-get install restic")
	}
	r := &Restic{place: p, program: program, options: options, patience: lockPatience, manifests: map[string]Manifest{},
		env: resticEnv(os.Environ(), env, repository, p.PasswordFile)}
	if path := r.localPath(); path != "" && (!filepath.IsAbs(path) || filepath.Clean(path) != path) {
		return fail(fmt.Errorf("%q is not a restic address (sftp:, rest:, s3:) and not an absolute path of a directory", path), "")
	}
	return r, nil
}

// resticEnv is ours without what could lead restic elsewhere, and then what the env_file says.
func resticEnv(ours, file []string, repository, passwordFile string) (env []string) {
	for _, line := range ours {
		if !strings.HasPrefix(line, "RESTIC_") && !strings.HasPrefix(line, "LC_") && !strings.HasPrefix(line, "LANG") {
			env = append(env, line)
		}
	}
	env = append(env, file...)
	return append(env, "LC_ALL=C", "RESTIC_REPOSITORY="+repository, "RESTIC_PASSWORD_FILE="+passwordFile)
}

// addressOf is the repository as restic is told it: in its environment, where only its own account can read it. A password in the
// address is in farm.yaml for everybody; restic 0.14 knows no other way for a REST server, so it is put in here.
func addressOf(repository string, env []string) (string, error) {
	if strings.ContainsAny(repository, "\x00\n") || strings.HasPrefix(repository, "-") {
		return "", errors.New("the address of the repository begins with - or has a line end in it")
	}
	rest, ok := strings.CutPrefix(repository, "rest:")
	if !ok {
		if withoutPassword(repository) != repository {
			return "", errors.New("the address of the repository has a password in it: put it into env_file")
		}
		return repository, nil
	}
	u, err := url.Parse(rest)
	if err != nil {
		return "", errors.New("the address behind rest: is not a URL") // the error quotes it, and with it the password
	}
	if _, has := u.User.Password(); has {
		return "", errors.New("the address of the repository has a password in it: put RESTIC_REST_USERNAME and RESTIC_REST_PASSWORD into env_file")
	}
	if name := lookup(env, "RESTIC_REST_USERNAME"); name != "" {
		u.User = url.UserPassword(name, lookup(env, "RESTIC_REST_PASSWORD"))
	}
	return "rest:" + u.String(), nil
}

var userinfo = lazy.Regexp(`://([^/@:]*):[^/@]*@`)

func withoutPassword(address string) string {
	return userinfo().ReplaceAllString(address, "://$1:***@")
}

// isSSHWord is what may be handed to ssh: no option, and nothing that restic's splitting of the command would take apart.
var isSSHWord = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.@%+-]*$|^\[?[0-9a-fA-F:.]+\]?$`)

// sftpOptions has restic start ssh so that it never asks, and ends when the other machine is gone.
func sftpOptions(repository string) ([]string, error) {
	rest, ok := strings.CutPrefix(repository, "sftp:")
	if !ok {
		return nil, nil
	}
	var host, user, port string
	if strings.HasPrefix(rest, "//") {
		u, err := url.Parse("sftp:" + rest)
		if err != nil {
			return nil, errors.New("the address behind sftp: is not a URL")
		}
		host, user, port = u.Hostname(), u.User.Username(), u.Port()
	} else {
		var path string
		if host, path, ok = strings.Cut(rest, ":"); !ok || path == "" {
			return nil, errors.New("the address behind sftp: has no path: write sftp:USER@HOST:/PATH or sftp://USER@HOST:PORT//PATH")
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			user, host = host[:at], host[at+1:]
		}
	}
	command := "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
	for _, o := range []struct{ flag, value string }{{"-p", port}, {"-l", user}} {
		if o.value == "" {
			continue
		}
		if !isSSHWord().MatchString(o.value) {
			return nil, fmt.Errorf("%.100q cannot be handed to ssh", o.value)
		}
		command += " " + o.flag + " " + o.value
	}
	if !isSSHWord().MatchString(host) {
		return nil, fmt.Errorf("%.100q is not the name of a host", host)
	}
	return []string{"-o", "sftp.command=" + command + " " + host + " -s sftp"}, nil
}

// localPath is the directory of a repository on this machine, or "".
func (r *Restic) localPath() string {
	at := r.place.Restic
	if path, ok := strings.CutPrefix(at, "local:"); ok {
		return path
	}
	if scheme, _, ok := strings.Cut(at, ":"); ok && !strings.Contains(scheme, "/") {
		return ""
	}
	return at
}

// with is the same repository, and options that each restic is given.
func (r *Restic) with(options ...string) *Restic {
	return &Restic{place: r.place, program: r.program, env: r.env, patience: r.patience, manifests: map[string]Manifest{},
		options: append(options, r.options...)}
}

// Made reports whether this vault has initialised its repository: it did not exist before.
func (r *Restic) Made() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made
}

// Free is known where the repository is a directory of this machine.
func (r *Restic) Free(ctx context.Context) (int64, error) {
	if err := r.opens(ctx); err != nil {
		return 0, failed("use", r.place.Subject(), r.place.Subject(), err)
	}
	path := r.localPath()
	if path == "" {
		return -1, nil
	}
	room, err := roomAt(path)
	if errors.Is(err, fs.ErrNotExist) {
		room, err = roomAt(filepath.Dir(path))
	}
	return room, failed("measure", path, path, err)
}

// opens is nil where the password opens the repository, or none is there yet and one may be made.
func (r *Restic) opens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openBudget)
	defer cancel()
	err := r.run(ctx, "--no-lock", "cat", "config")
	if isAbsent(err) {
		return r.mayInitialise()
	}
	return err
}

// openBudget is well below what the questions before a run may take; restic itself asks a server that does not answer for a quarter of an hour.
const openBudget = 40 * time.Second

var (
	_ Vault  = (*Restic)(nil)
	_ Pruner = (*Restic)(nil)
)
