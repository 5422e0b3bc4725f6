package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/inventory"
	"stowage/store"
	"stowage/vault"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// TestScripts runs the manual's examples: each script starts in a copy of
// testdata/workspace, whose servers do not exist. Besides the usual commands
// there are
//
//	stowage ARGS         the program; it must exit with 0
//	exits CODE ARGS      the program; it must exit with that code
//	object PATH...       standard output is one JSON object and nothing else, and has these: moves.0.bytes
//	absent PATH...       the object on standard output does not have these
//	quiet                standard error has next steps and nothing else
//	plain                no control characters on either output
//	replace FILE A B     the first A in FILE becomes B; it must be there
//	cut FILE BYTES       FILE keeps its first bytes
//	remember, unchanged  every file outside of .stowage has the bytes it had
//	slowlog FILE SECONDS CLASS=TIME...   ten statements a second of each class, taking about so long; start=2026-11-22T10:00:00Z: from then on
//	surveyed SHARD=SIZE...               an inventory, as if the servers had been there
//	backed ID HOURS KEY=VALUE...         a full backup of dbshard001a in the store that is so many hours old; base=ID, damaged=WHY, proven=HOURS, host=NAME
//
// `go test ./cmd/stowage -run TestScripts -update` rewrites what cmp compares with.
func TestScripts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(playsProgram, "1")
			env.Setenv("SELF", self)
			env.Values["remembered"] = map[string]string{}
			err := os.CopyFS(env.WorkDir, os.DirFS("testdata/workspace"))
			private, _ := filepath.Glob(filepath.Join(env.WorkDir, "*.cnf")) // as people must have them
			for _, path := range private {
				err = errors.Join(err, os.Chmod(path, 0o600))
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"stowage":   func(ts *testscript.TestScript, neg bool, args []string) { runs(ts, neg, 0, args) },
			"exits":     exits,
			"object":    object,
			"absent":    absent,
			"quiet":     onlyNext,
			"plain":     plain,
			"replace":   replace,
			"cut":       cut,
			"remember":  remember,
			"unchanged": unchanged,
			"slowlog":   slowlog,
			"surveyed":  surveyed,
			"backed":    backed,
		},
	})
}

// runs runs the test binary as the program.
func runs(ts *testscript.TestScript, neg bool, want int, args []string) {
	if neg {
		ts.Fatalf("say which code: exits CODE %s", strings.Join(args, " "))
	}
	err, got := ts.Exec(ts.Getenv("SELF"), args...), 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		for _, mark := range []string{"panic:", "goroutine ", ".go:", "strconv.", "*errors."} {
			if strings.Contains(ts.ReadFile(stream), mark) {
				ts.Fatalf("%s has %q: not for people", stream, mark)
			}
		}
	}
	next, err := nextOf(args, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	ts.Check(err)
	for _, command := range next {
		ts.Check(deadAdvice(command))
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	runs(ts, neg, code, args[1:])
}

// find walks a decoded JSON value along a path such as moves.0.bytes.
func find(value any, path string) (any, bool) {
	for _, key := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(v) {
				return nil, false
			}
			value = v[n]
		default:
			return nil, false
		}
	}
	return value, true
}

func stdoutObject(ts *testscript.TestScript) any {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var value map[string]any
	if err := dec.Decode(&value); err != nil {
		ts.Fatalf("standard output is no JSON object: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("standard output goes on after the object: %v", err)
	}
	return value
}

func object(ts *testscript.TestScript, _ bool, paths []string) {
	value := stdoutObject(ts)
	for _, path := range paths {
		if path, want, ok := strings.Cut(path, "="); ok {
			if got, _ := find(value, path); fmt.Sprint(got) != want {
				ts.Fatalf("%s is %v, want %s", path, got, want)
			}
		} else if _, ok := find(value, path); !ok {
			ts.Fatalf("the object has no %s", path)
		}
	}
}

func absent(ts *testscript.TestScript, _ bool, paths []string) {
	value := stdoutObject(ts)
	for _, path := range paths {
		if got, ok := find(value, path); ok {
			ts.Fatalf("the object has %s: %v", path, got)
		}
	}
}

func onlyNext(ts *testscript.TestScript, _ bool, _ []string) {
	for _, line := range strings.Split(ts.ReadFile("stderr"), "\n") {
		if line != "" && !strings.HasPrefix(line, "next: ") {
			ts.Fatalf("standard error has %q", line)
		}
	}
}

func plain(ts *testscript.TestScript, _ bool, _ []string) {
	for _, stream := range []string{"stdout", "stderr"} {
		if i := strings.IndexFunc(ts.ReadFile(stream), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
			ts.Fatalf("%s has a control character at byte %d", stream, i)
		}
	}
}

func replace(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

func cut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// files are the bytes of every file of the script's directory. What the program
// keeps for itself, .stowage, is left out.
func files(ts *testscript.TestScript) map[string]string {
	out, root := map[string]string{}, ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".stowage" || path == filepath.Join(root, ".tmp")): // .tmp is testscript's own
			return filepath.SkipDir
		case d.IsDir():
			out[path] = "a directory"
			return nil
		}
		raw, err := os.ReadFile(path)
		out[path] = string(raw)
		return err
	}))
	return out
}

func remember(ts *testscript.TestScript, _ bool, _ []string) {
	kept := ts.Value("remembered").(map[string]string)
	clear(kept)
	maps.Copy(kept, files(ts))
}

func unchanged(ts *testscript.TestScript, _ bool, _ []string) {
	kept, now := ts.Value("remembered").(map[string]string), files(ts)
	for path := range now {
		if was, ok := kept[path]; !ok || was != now[path] {
			ts.Fatalf("%s is new, or has changed:\n%s", path, now[path])
		}
	}
	for path := range kept {
		if _, ok := now[path]; !ok {
			ts.Fatalf("%s is gone", path)
		}
	}
}

// slowlog writes a log as MariaDB does. Times go up and down by a fifth, always
// in the same way.
func slowlog(ts *testscript.TestScript, _ bool, args []string) {
	seconds, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := slowLogOf(seconds, args[2:]...)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// slowLogOf is a slow log with ten statements a second of each class: CLASS=TIME.
func slowLogOf(seconds int, classes ...string) (string, error) {
	var b strings.Builder
	b.WriteString("/usr/sbin/mariadbd, Version: 10.11.14-MariaDB-log (Debian). started with:\nTcp port: 3306  Unix socket: mysqld.sock\nTime\t\t    Id Command\tArgument\n")
	start, n := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), 0
	if when, ok := strings.CutPrefix(classes[0], "start="); ok {
		var err error
		if start, err = time.Parse(time.RFC3339, when); err != nil {
			return "", err
		}
		classes = classes[1:]
	}
	for s := range seconds {
		at := start.Add(time.Duration(s) * time.Second)
		fmt.Fprintf(&b, "# Time: %s\n", at.Format("060102 15:04:05"))
		for range 10 {
			for _, class := range classes {
				name, text, _ := strings.Cut(class, "=")
				took, err := time.ParseDuration(text)
				if err != nil {
					return "", err
				}
				n++
				took += took * time.Duration(n*7919%41-20) / 100
				fmt.Fprintf(&b, "# User@Host: app[app] @ web1 [10.0.0.9]\n# Thread_id: 5  Schema: shard_0001  QC_hit: No\n"+
					"# Query_time: %.6f  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 60\n"+
					"SET timestamp=%d;\nSELECT * FROM %s WHERE id = %d;\n", took.Seconds(), at.Unix(), name, n)
			}
		}
	}
	return b.String(), nil
}

// surveyed keeps an inventory with shards of such sizes in the workspace.
func surveyed(ts *testscript.TestScript, _ bool, args []string) {
	inv := inventory.Inventory{FormatVersion: 1, Farm: "small", Instances: []inventory.Instance{{Shards: map[farm.ShardName]int64{}, ServerID: 2001}}}
	for _, arg := range args {
		name, size, _ := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(size, 10, 64)
		ts.Check(err)
		inv.Instances[0].Shards[farm.ShardName(name)] = n
	}
	ts.Check(os.MkdirAll(ts.MkAbs(".stowage"), 0o700))
	s, err := store.Open(ts.MkAbs(".stowage/stowage.db"))
	ts.Check(err)
	defer s.Close()
	ts.Check(s.PutDocument("inventory", inv.Farm, time.Now(), inv))
}

// backed keeps the record of a backup of dbshard001a.
func backed(ts *testscript.TestScript, _ bool, args []string) {
	ago := func(hours string) time.Time {
		n, err := strconv.ParseFloat(hours, 64)
		ts.Check(err)
		return time.Now().Add(-time.Duration(n * float64(time.Hour)))
	}
	at := ago(args[1])
	b := catalogue.Backup{
		ID: args[0], Farm: "small", Pair: "dbshard001", Side: farm.A, Instance: "dbshard001a", Kind: catalogue.Full, Began: at.Add(-10 * time.Second), At: at, Seconds: 10, Raw: 4e9, Bytes: 1e9,
		GTID: "1-1-7", On: "db001", Host: "db001", Place: vault.Place{Dir: "/srv/backup"},
	}
	for _, arg := range args[2:] {
		switch key, value, _ := strings.Cut(arg, "="); key {
		case "base":
			b.Kind, b.Base, b.Raw, b.Bytes = catalogue.Incremental, value, 4e7, 1e7
		case "damaged":
			b.Damaged = value
		case "proven":
			proof := ago(value)
			b.ProvenAt = &proof
		case "host":
			b.Host = farm.HostName(value)
		default:
			ts.Fatalf("backed does not know %s", key)
		}
	}
	ts.Check(os.MkdirAll(ts.MkAbs(".stowage"), 0o700))
	s, err := store.Open(ts.MkAbs(".stowage/stowage.db"))
	ts.Check(err)
	defer s.Close()
	ts.Check(kept.Put(s, b, at))
}
