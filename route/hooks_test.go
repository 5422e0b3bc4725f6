package route_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/turns"
	"stowage/route"
)

// The programs of examples/routing-hooks, as docs/reference/routing.md recommends them.
// ProxySQL is not in Debian, and hosts are not there: what their consoles are told
// is written down by a double, which is what these tests look at.

const double = `#!/bin/sh
# Writes down what it is told; "refuse" beside it makes it fail.
dir=$(dirname "$0")
if [ -e "$dir/refuse" ]; then echo "console: connection refused" >&2; exit 1; fi
`

// hookOf is a router by a program of examples/routing-hooks; told is what its
// double was told.
func hookOf(t *testing.T, program, console string, config func(dir, double string) map[string]any) (r *route.Exec, dir string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: the example programs want python3")
	}
	dir = t.TempDir()
	own, err := filepath.Abs("../examples/routing-hooks")
	must(t, err)
	script := filepath.Join(dir, "console")
	must(t, os.WriteFile(script, []byte(double+console), 0o700))
	raw, err := json.Marshal(config(dir, script))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), raw, 0o600))
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	return route.NewExec(route.ExecOptions{Program: []string{filepath.Join(own, program), filepath.Join(dir, "config.json")}, Dir: dir,
		Lock: filepath.Join(dir, "routing"), Timeout: patient, Whole: true}), dir
}

func told(t *testing.T, dir string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "told"))
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "told")))
	return string(raw)
}

// The recipe for ProxySQL: a server a hostgroup, offline for as long as a gate is
// closed, and another one afterwards; a console that refuses changes nothing.
func TestRecipeProxySQL(t *testing.T) {
	turns.One(t, 6)
	r, dir := hookOf(t, "proxysql.py", `cat >> "$dir/told"`, func(dir, double string) map[string]any {
		return map[string]any{"state": filepath.Join(dir, "state"), "mysql": [][]string{{double}}, "hostgroups": map[string]any{string(pairName): map[string]int{"A": 101, "B": 102}}}
	})
	create(t, r, onePair())
	if got := told(t, dir); !strings.Contains(got, "VALUES (101, '127.0.10.1', 23306, 'ONLINE')") || !strings.Contains(got, "VALUES (102, '127.0.10.2', 23306, 'ONLINE')") ||
		!strings.HasSuffix(got, "LOAD MYSQL SERVERS TO RUNTIME;\nSAVE MYSQL SERVERS TO DISK;\n") {
		t.Errorf("at rest ProxySQL is told\n%s", got)
	}
	must(t, r.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil }))
	if got := told(t, dir); !strings.Contains(got, "VALUES (101, '127.0.10.1', 23306, 'OFFLINE_SOFT')") || !strings.Contains(got, "VALUES (102, '127.0.10.2', 23306, 'ONLINE')") {
		t.Errorf("behind a closed gate ProxySQL is told\n%s", got)
	}
	must(t, r.Change(t.Context(), pairName, func(p *route.Pair) error {
		p.Serve(farm.A, farm.B, "127.0.10.2:23306", 100)
		p.OpenGate(farm.A)
		return nil
	}))
	if got := told(t, dir); !strings.Contains(got, "VALUES (101, '127.0.10.2', 23306, 'ONLINE')") {
		t.Errorf("switched, ProxySQL is told\n%s", got)
	}
	// It cannot tell clients of one side apart; with whole: true nobody asks it to.
	if err := r.Change(t.Context(), pairName, func(p *route.Pair) error { p.Serve(farm.A, farm.A, "127.0.10.1:23306", 1); return nil }); err == nil || !strings.Contains(err.Error(), "shared by two servers") {
		t.Errorf("a share of 1 %%: %v", err)
	}
	if !r.Guarantee().Whole {
		t.Error("shares would be asked of it")
	}
	before, err := r.Read(t.Context())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "refuse"), nil, 0o600))
	err = r.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.B); return nil })
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a console that refuses: %v", err)
	}
	if now, err := r.Read(t.Context()); err != nil || now.Generation != before.Generation {
		t.Errorf("generation %d after %d, %v", now.Generation, before.Generation, err)
	}
}

// The recipe for a virtual address: nobody has it while the gate is closed, and
// never two do.
func TestRecipeAddress(t *testing.T) {
	// One file a host stands for what the host has.
	console := `host=$1; shift
echo "$host $*" >> "$dir/told"
case "$*" in
*"addr show"*) cat "$dir/has-$host" 2>/dev/null ;;
*"addr add"*) echo "10.0.9.1" > "$dir/has-$host" ;;
*"addr del"*) rm "$dir/has-$host" ;;
esac
exit 0
`
	r, dir := hookOf(t, "address.py", console, func(dir, double string) map[string]any {
		return map[string]any{"state": filepath.Join(dir, "state"), "run": []string{double, "{host}"},
			"pairs": map[string]any{string(pairName): map[string]any{"address": "10.0.9.1/32", "device": "eth0", "hosts": []string{"127.0.10.1", "127.0.10.2"}}}}
	})
	has := func(want string) {
		t.Helper()
		found, _ := filepath.Glob(filepath.Join(dir, "has-*"))
		for i := range found {
			found[i] = strings.TrimPrefix(filepath.Base(found[i]), "has-")
		}
		if got := fmt.Sprint(found); got != want {
			t.Errorf("the address is on %s, want %s", got, want)
		}
	}
	create(t, r, map[farm.PairName]*route.Pair{pairName: route.NewPrimary([]farm.ShardName{"s"}, "127.0.10.1:23306")})
	has("[127.0.10.1]")
	must(t, r.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil }))
	has("[]")
	_ = told(t, dir)
	must(t, r.Change(t.Context(), pairName, func(p *route.Pair) error {
		p.Serve(farm.A, farm.A, "127.0.10.2:23306", 100)
		p.OpenGate(farm.A)
		return nil
	}))
	has("[127.0.10.2]")
	if got := told(t, dir); !strings.Contains(got, "127.0.10.2 arping -c 2 -U -I eth0 10.0.9.1") {
		t.Errorf("neighbours are not told:\n%s", got)
	}
}
