package host

import (
	"bytes"
	"io"
	"os/exec"
	"sync/atomic"
	"time"

	"stowage/internal/keeper"
)

// locking is what mariadb-backup (10.6 to 11.8) says before it stops all commits of the server. They wait until it has the end of the redo log.
const locking = "Starting BACKUP STAGE BLOCK_COMMIT"

// copied ends what mariadb-backup (10.6 to 11.8) says when the last of its files, xtrabackup_info, is in the stream. What is left is to end its
// threads, and there it may wait for ever for one that it woke before that one slept: seen once, with 10.11.19.
const copied = " was copied."

// endWait is how long mariadb-backup may take to end after that; it takes milliseconds.
const endWait = 15 * time.Second

// backupWatch keeps what mariadb-backup says, calls locks before the server's commits wait, and ends it where it does not end by itself.
type backupWatch struct {
	all   []byte
	locks func()
	kill  func()
	told  bool
	over  *time.Timer // runs since copied was said
	ended atomic.Bool // by us: the stream is whole
}

func (b *backupWatch) Write(p []byte) (int, error) {
	from := max(0, len(b.all)-len(locking)) // the words may come in two pieces
	b.all = append(b.all, p...)
	if !b.told && bytes.Contains(b.all[from:], []byte(locking)) {
		b.told = true
		b.locks()
	}
	b.stop()
	if bytes.HasSuffix(bytes.TrimRight(b.all, "\n"), []byte(copied)) {
		b.over = time.AfterFunc(endWait, func() {
			b.ended.Store(true)
			b.kill()
		})
	}
	return len(p), nil
}

// stop lets it end by itself. Nothing may be written meanwhile.
func (b *backupWatch) stop() {
	if b.over != nil {
		b.over.Stop()
	}
}

// hasten lets a copy end that all clients wait for: nothing limits it, and it has the servers' priority.
func hasten(cmd *exec.Cmd, w io.Writer) {
	if h, is := w.(Hasty); is {
		h.Hasten()
	}
	keeper.Restore(cmd.Process.Pid)
}
