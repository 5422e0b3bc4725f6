package scratch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"stowage/host"
)

// prefix begins the names of the directories of throw-away servers. Behind it stands the process that made one.
const prefix = "stowage-schema-"

// Place is a directory for a throw-away server, which is not made yet. What programs have left that were killed is cleared away before, with their servers.
func Place(ctx context.Context, local *host.Local) string {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*")) // only a malformed pattern is an error
	for _, dir := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		i := instanceIn(dir)
		if local.Kill(ctx, i, patience) == nil {
			_ = local.Remove(ctx, i, owner) // it refuses what bears no mark of ours
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), rand.Text()))
}

func instanceIn(dir string) host.Instance {
	return host.Instance{Name: "scratch", Address: "127.0.0.1", Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
}
