package start

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/start.md")

const (
	page = "../../docs/start.md"

	// What the page works with. The test has a directory and addresses of its
	// own: others may run it, or follow the page, at the same time.
	pageDir       = "/srv/start"
	pageAddresses = "127.0.81."
	port          = 3307
)

// TestStart does what docs/start.md says, as a reader would: it saves the files,
// types the commands one after the other into a shell, and holds what each prints
// against the page. Every command must end well. Figures that differ from run to
// run are those of the list named varies. Of standard error the page has only the
// lines that say what to type next, below the output, where a terminal shows them. With -update it writes what was printed into the page.
//
// That no query of the client failed and no write was lost is in the page itself:
// the client stops at the first error, and its count is compared with the table's.
func TestStart(t *testing.T) {
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		t.Skip("SKIPPED: no servers are wanted")
	}
	if out, err := exec.Command("/usr/bin/python3", "-c", "import pymysql").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: docs/start.md: its client wants Debian's python3-pymysql: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all, err := read(string(raw))
	if err != nil {
		t.Fatalf("docs/start.md: %v", err)
	}
	mine := ours(t)
	sh := newShell(t, clone(t))
	for n := range all {
		p := &all[n]
		if p.file != "" {
			save(t, mine.Replace(p.file), mine.Replace(p.text))
			continue
		}
		got, code, said := sh.run(mine.Replace(p.text))
		got = mine.back(append(got, next(said)...))
		if code != 0 {
			t.Fatalf("docs/start.md:%d: %s\nends with %d:\n%s\n%s", p.line, p.text, code, strings.Join(got, "\n"), said)
		}
		want := p.output
		if slices.Equal(normalise(got), normalise(want)) || mine.isOfOthers(got) {
			continue
		}
		p.output = got
		if !*update {
			t.Errorf("docs/start.md:%d: %s\nprints\n%s\nand the page has\n%s\n%s", p.line, p.text, strings.Join(got, "\n"), strings.Join(want, "\n"), said)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(page, []byte(rewrite(string(raw), all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if left := processesOf(mine.dir); len(left) > 0 {
		t.Errorf("the page leaves processes behind: %v", left)
	}
}

// next are the lines of standard error that say what to type next.
func next(said string) (out []string) {
	for l := range strings.Lines(said) {
		if strings.HasPrefix(l, "next: ") {
			out = append(out, strings.TrimSuffix(l, "\n"))
		}
	}
	return out
}

// places are what is here for the page's directory and addresses.
type places struct {
	*strings.Replacer
	back func([]string) []string
	dir  string
	own  string // 'NAME'@'localhost', the account of a user who is not root
}

// isOfOthers says that an output is as users other than root see it: the account
// that MariaDB made for them is in it.
func (p places) isOfOthers(output []string) bool {
	return p.own != "" && strings.Contains(strings.Join(output, "\n"), p.own)
}

func ours(t *testing.T) places {
	t.Helper()
	farm := farmtest.EmptyFarm(t, "", 0)
	t.Cleanup(func() {
		stopAll(t, farm.Dir)
		_ = exec.Command("chmod", "-R", "u+rwX", farm.Dir).Run() // of a page that was not typed to its end
		if err := os.RemoveAll(farm.Dir); err != nil {
			t.Error(err)
		}
	})
	addresses := freeAddresses(t)
	dir := filepath.Join(farm.Dir, "start") // the page makes it
	pairs := []string{pageDir, dir, pageAddresses, addresses}
	own := ""
	if os.Geteuid() != 0 { // who is not root leaves this out, as the page says
		pairs = append(pairs, " --user=mysql", "")
		if u, err := user.Current(); err == nil {
			own = "'" + u.Username + "'@'localhost'"
		}
	}
	there, back := strings.NewReplacer(pairs...), strings.NewReplacer(dir, pageDir, addresses, pageAddresses)
	return places{there, func(lines []string) (out []string) {
		for _, l := range lines {
			out = append(out, back.Replace(l))
		}
		return out
	}, dir, own}
}

// freeAddresses finds a range of which the first addresses are free on the page's
// port. The listener that is given back with it keeps others from choosing it.
func freeAddresses(t *testing.T) string {
	t.Helper()
	for n := 81; n < 250; n++ {
		prefix := fmt.Sprintf("127.0.%d.", n)
		claim, err := net.Listen("tcp", fmt.Sprintf("%s250:%d", prefix, port))
		if err != nil {
			continue
		}
		free := true
		for host := 1; host <= 3 && free; host++ {
			ln, err := net.Listen("tcp", fmt.Sprintf("%s%d:%d", prefix, host, port))
			if free = err == nil; free {
				ln.Close()
			}
		}
		if free {
			t.Cleanup(func() { claim.Close() })
			return prefix
		}
		claim.Close()
	}
	t.Fatalf("port %d is taken in every range from 127.0.81.x on", port)
	return ""
}

// clone is a directory like that of a reader who has built Stowage. What its
// bin/ has is the program that all live tests run.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "bin"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"bin/stowage": farmtest.LiveProgram(t), "bin/stowage-engine": filepath.Join(farmtest.BinDir(t), "stowage-engine"), "examples": examples,
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func save(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
