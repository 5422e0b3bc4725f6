package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// longNames is a workspace whose hosts have names of 60 letters, in labels that DNS allows.
func longNames(t *testing.T) (dir string, hosts []string) {
	t.Helper()
	dir = t.TempDir()
	var text strings.Builder
	text.WriteString("farm: long\nnext_server_id: 9\naccounts: accounts.cnf\nhost_types:\n  old: {max_instances: 1}\nhosts:\n")
	for n := range 4 {
		hosts = append(hosts, fmt.Sprintf("db-shard-%03d-%s.example.com", n, strings.Repeat("x", 36)))
		fmt.Fprintf(&text, "  - {name: %s, type: old, address: 127.0.99.%d}\n", hosts[n], n+1)
	}
	text.WriteString("pairs:\n")
	for n := range 2 {
		fmt.Fprintf(&text, `  - name: shop%d
    topology: active-active
    sides:
      A: {host: %s, port: 3306, datadir: /srv/shop}
      B: {host: %s, port: 3306, datadir: /srv/shop}
    shards:
      - {name: shop%d, disk: 1GB}
`, n, hosts[2*n], hosts[2*n+1], n)
	}
	for name, text := range map[string]string{"farm.yaml": text.String(), "accounts.cnf": "[stowage]\nuser = stowage\npassword = x\n[replication]\nuser = r\npassword = x\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, hosts
}

// TestTablesFitTheTerminal: free text gives way to the terminal's width, then the middle of names, and --wide or a pipe has all of it.
func TestTablesFitTheTerminal(t *testing.T) {
	dir, _ := longNames(t)
	t.Setenv("COLUMNS", "80")
	end := "next: "
	for _, c := range []struct {
		name  string
		args  []string
		end   string
		whole []string // also at 80 columns
		text  string   // is there in full only with --wide
	}{
		{"codes", []string{"explain"}, "130  ", []string{"server-id-unique"}, "a server runs with something else than options of its host's type say"},
		{"graph", []string{"-C", dir, "inventory", "graph"}, end, nil, "plan, move, alter, roll"},
	} {
		t.Run(c.name, func(t *testing.T) {
			narrow := printed(t, c.end, c.args...)
			for _, w := range c.whole {
				if !strings.Contains(narrow, w) {
					t.Errorf("%s is cut:\n%s", w, narrow)
				}
			}
			for line := range strings.Lines(narrow) {
				line = strings.TrimRight(line, "\r\n")
				if n := utf8.RuneCountInString(line); n > 80 && !strings.HasPrefix(line, end) {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if strings.Contains(narrow, c.text) || !strings.Contains(narrow, "…") {
				t.Errorf("nothing is cut:\n%s", narrow)
			}
			if wide := printed(t, c.end, append(c.args, "--wide")...); !strings.Contains(wide, c.text) || strings.Contains(wide, "…") {
				t.Errorf("--wide cuts:\n%s", wide)
			}
		})
	}
}

// printed is what a command shows on a terminal, once it has shown end.
func printed(t *testing.T, end string, args ...string) string {
	t.Helper()
	x := onTerminal(t, args...)
	x.await(end)
	if err := x.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}
