package attack

import (
	"os"
	"path/filepath"
	"testing"
)

// openDir is a directory that servers of another account can read in.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stowage-attack-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func write(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode))
	return path
}
