package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestANumberThatIsUsedAgainMakesNoSharer: a neighbour's option file was replaced since it was looked at, and a new file has got the
// number of the old one. On ext4 that is the next file that anybody writes.
func TestANumberThatIsUsedAgainMakesNoSharer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mine.cnf", "theirs.cnf"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("[mysqld]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(dir, "mine.cnf")
	info, err := os.Stat(mine)
	if err != nil {
		t.Fatal(err)
	}
	l := &Local{}
	sharers := func(theirs string) int {
		l.allReaders.all, l.allReaders.since = []reader{{pid: 1, datadir: "/theirs", files: []readFile{{theirs, info}}}}, time.Now()
		return len(l.sharers(t.Context(), Instance{Config: mine}, 2))
	}
	if n := sharers(filepath.Join(dir, "theirs.cnf")); n != 0 {
		t.Errorf("%d servers share it", n)
	}
	link := filepath.Join(dir, "link.cnf")
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	if n := sharers(link); n != 1 {
		t.Errorf("%d servers share it by a link", n)
	}
}
