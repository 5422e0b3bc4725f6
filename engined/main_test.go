package main

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	schema "go.temporal.io/server/schema/sqlite"
)

func TestSchemaIsMadeOnceAndForeignFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.db")
	for range 2 {
		if err := prepare(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE name IN ('executions', 'namespaces', 'executions_visibility')").Scan(&tables); err != nil || tables != 3 {
		t.Errorf("%d of 3 tables, error %v", tables, err)
	}
	if _, err := db.Exec("PRAGMA user_version = 7"); err != nil {
		t.Fatal(err)
	}
	if err := prepare(t.Context(), path); err == nil || !strings.Contains(err.Error(), "schema is number 7") {
		t.Errorf("file of another version: %v", err)
	}
}

func TestSchemaNumber(t *testing.T) {
	for version, want := range map[string]int{"0.11": 11, "1.2": 1002} {
		if got, err := schemaNumber(version); err != nil || got != want {
			t.Errorf("schemaNumber(%q) = %d, %v; want %d", version, got, err, want)
		}
	}
	if _, err := schemaNumber(schema.Version); err != nil {
		t.Error(err)
	}
}

func TestLockNamesItsOwnerAndPassesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(t.Context(), path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(t.Context(), path, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "another engine") {
		t.Errorf("second lock: %v", err)
	}
	go func() { time.Sleep(100 * time.Millisecond); first.Close() }()
	second, err := lockFile(t.Context(), path, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

func TestPorts(t *testing.T) {
	p, err := choosePorts("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range []int{p.frontend, p.history, p.matching} {
		if port < lowestPort || port > highestPort || seen[port] {
			t.Errorf("ports %+v", p)
		}
		seen[port] = true
	}
	if p, err := choosePorts("127.0.0.1:21999"); err != nil || p.frontend != 21999 {
		t.Errorf("fixed port: %+v, %v", p, err)
	}
	for _, bad := range []string{"0.0.0.0:0", "[::]:0", "nonsense:0", "127.0.0.1", "127.0.0.1:http", ":0"} {
		if _, err := choosePorts(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--db", "x", "rest"}, {"--nonsense"}, {"--db", "x"}, {"--db", "x", "--tls-cert", "a", "--tls-key", "b"}, {"--db", "x", "--tls-ca", "c"}} {
		if code := run(args, io.Discard, io.Discard); code != 2 {
			t.Errorf("%q ended with %d, want 2", args, code)
		}
	}
}

func TestEndsWhenNobodyNeedsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	var programs []*os.File
	for range 2 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, f)
	}
	ctx, err := untilUnused(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	programs[0].Close()
	select {
	case <-ctx.Done():
		t.Fatal("it ended while a program needed it")
	case <-time.After(5 * look):
	}
	programs[1].Close()
	<-ctx.Done()
	late, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if syscall.Flock(int(late.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		t.Error("somebody may begin to use it while it stops")
	}
}

func TestVersionNeedsNothingElse(t *testing.T) {
	var out, errOut strings.Builder
	if code := run([]string{"--version"}, &out, &errOut); code != 0 || out.String() != "stowage-engine version unreleased\n" || errOut.Len() > 0 {
		t.Errorf("exit code %d: %q, %q", code, out.String(), errOut.String())
	}
}
