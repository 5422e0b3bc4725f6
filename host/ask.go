package host

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stowage/internal/safefile"
)

// askTimeout bounds a question to a tool. RAID tools take some seconds on a
// controller with many drives; a disk that hangs hangs its tool.
const askTimeout = 20 * time.Second

// askLimit is more than any answer of theirs has.
const askLimit = 8 << 20

// Ask runs a program of this machine that only reads, such as smartctl, and
// returns what it printed; also with an error, because such programs put flags
// into their exit codes. One that is not installed gives fs.ErrNotExist. It runs
// under our own account: disks talk to root only.
func Ask(ctx context.Context, argv ...string) (string, error) {
	path, err := LookUp(argv[0])
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, path, argv[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	c.Dir = "/"
	if dir, err := safefile.Private(); err == nil { // MegaCli leaves a log where it is run
		c.Dir = dir.Path()
		defer dir.Close()
	}
	c.WaitDelay = time.Second
	out, complaint := &limited{}, &limited{}
	c.Stdout, c.Stderr = out, complaint
	if err = c.Run(); err == nil {
		return out.String(), nil
	}
	switch said, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n"); {
	case ctx.Err() != nil:
		err = fmt.Errorf("no answer within %s", askTimeout)
	case said != "":
		err = fmt.Errorf("%s (%w)", said, err)
	}
	return out.String(), err
}

// limited keeps the first part of what a program prints.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := askLimit - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// LookUp finds a program where administrators' tools are, whatever our PATH is.
func LookUp(name string) (string, error) {
	candidates := []string{name, filepath.Join("/usr/sbin", name), filepath.Join("/sbin", name), filepath.Join("/usr/local/sbin", name)}
	if filepath.IsAbs(name) {
		candidates = candidates[:1]
	}
	for _, c := range candidates {
		if path, err := exec.LookPath(c); err == nil {
			return path, nil
		}
	}
	return "", fs.ErrNotExist
}
