package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestASilentVerbSaysWhatItDoes: a server that takes connections and says nothing holds an inventory up; the terminal says what is waited for, and
// the line is gone before the answer comes.
func TestASilentVerbSaysWhatItDoes(t *testing.T) {
	t.Parallel() // it mostly waits
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"farm.yaml": fmt.Sprintf(`farm: small
next_server_id: 2
accounts: accounts.cnf
host_types:
  old: {max_instances: 1}
hosts:
  - {name: db1, type: old, address: 127.0.0.1}
pairs:
  - name: shop
    topology: single
    sides:
      A: {host: db1, port: %d, datadir: /srv/shop}
    shards:
      - {name: shop, disk: 1GB}
`, l.Addr().(*net.TCPAddr).Port),
		"accounts.cnf": "[stowage]\nuser = stowage\npassword = x\n[replication]\nuser = r\npassword = x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := onTerminal(t, "inventory", "-C", dir)
	x.await("asking servers: 0 of 1, 2s")
	x.await("1 finding")
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := x.seen.String()
	if _, after, _ := strings.Cut(seen, "asking servers: 0 of 1"); !strings.Contains(after, "\r\x1b[2Kfarm small") && !strings.Contains(after, "\r\x1b[2K\rfarm small") {
		t.Errorf("the line is there when the answer comes: %q", seen)
	}
}
