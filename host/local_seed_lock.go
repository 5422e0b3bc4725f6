package host

import (
	"bytes"
	"io"
	"os/exec"

	"stowage/internal/keeper"
)

// locking is what mariadb-backup (10.6 to 11.8) says before it stops all commits of the server. They wait until it has the end of the redo log.
const locking = "Starting BACKUP STAGE BLOCK_COMMIT"

// lockWatch keeps what mariadb-backup says, and calls locks before the server's commits wait.
type lockWatch struct {
	all   []byte
	locks func()
	told  bool
}

func (l *lockWatch) Write(p []byte) (int, error) {
	from := max(0, len(l.all)-len(locking)) // the words may come in two pieces
	l.all = append(l.all, p...)
	if !l.told && bytes.Contains(l.all[from:], []byte(locking)) {
		l.told = true
		l.locks()
	}
	return len(p), nil
}

// hasten lets a copy end that all clients wait for: nothing limits it, and it has the servers' priority.
func hasten(cmd *exec.Cmd, w io.Writer) {
	if h, is := w.(Hasty); is {
		h.Hasten()
	}
	keeper.Restore(cmd.Process.Pid)
}
