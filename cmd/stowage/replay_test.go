package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql/traffic"
	"stowage/replay"
	"stowage/route"
)

// recordedReads is a log of reads that a server with the tables below answers
// with so many rows.
func recordedReads(t *testing.T, dir string, statements ...string) string {
	t.Helper()
	var b strings.Builder
	for i, s := range statements {
		at := time.Date(2026, 11, 21, 10, 0, i, 0, time.UTC)
		fmt.Fprintf(&b, "# Time: %s\n# User@Host: app[app] @  [10.0.0.1]\n# Thread_id: 1  Schema: shop  QC_hit: No\n# Query_time: 0.001000  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 59\nSET timestamp=%d;\n%s;\n",
			at.Format("060102 15:04:05"), at.Unix(), s)
	}
	name := filepath.Join(dir, "slow.log")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestReplayExitCodes: 0 the same, 1 something differs, 3 refused, 130 stopped;
// what was seen is printed each time.
func TestReplayExitCodes(t *testing.T) {
	dir := t.TempDir()
	candidate, original := mariadbtest.Start(t, "candidate"), mariadbtest.Start(t, "original")
	for _, i := range []*mariadbtest.Instance{candidate, original} {
		i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT)", "INSERT INTO shop.t VALUES (1, 1), (2, 2)",
			"CREATE USER replay@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON *.* TO replay@'%'",
			"CREATE USER writer@'%' IDENTIFIED BY 'x'", "GRANT SELECT, INSERT, UPDATE, DELETE, PROCESS, REPLICA MONITOR, REPLICATION MASTER ADMIN ON *.* TO writer@'%'")
	}
	account := func(user string) string {
		name := filepath.Join(dir, user+".cnf")
		if err := os.WriteFile(name, []byte("[replay]\nuser = "+user+"\npassword = x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	play := func(want int, args ...string) (*replay.Outcome, string) {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{"-C", dir, "replay", "--json"}, args...)
		if got := run(t.Context(), args, &out, &errs, nil); got != want {
			t.Fatalf("%v: exit code %d, want %d\n%s\n%s", args, got, want, errs.String(), out.String())
		}
		var o replay.Outcome
		if out.Len() == 0 {
			return nil, errs.String()
		}
		if err := json.Unmarshal(out.Bytes(), &o); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		return &o, errs.String()
	}
	log := recordedReads(t, dir, "SELECT a FROM t WHERE id = 1", "SELECT a FROM t WHERE id = 2", "UPDATE t SET a = 5 WHERE id = 1")
	base := []string{log, "--to", candidate.Address, "--speed", "max", "--defaults-file", account("replay")}

	o, _ := play(exitFine, base...)
	if o.Sent.Read != 2 || o.Compared.Equal != 2 || len(o.Skipped) != 1 || o.Ended != "complete" || o.Candidate != candidate.Address {
		t.Errorf("%+v", o)
	}
	o, _ = play(exitFine, append(base, "--against", original.Address, "--save", filepath.Join(dir, "x.digest"))...)
	if o.Compared.Equal != 2 || o.Original != original.Address {
		t.Errorf("%+v", o)
	}
	var shown, errs bytes.Buffer
	if code := run(t.Context(), []string{"digest", filepath.Join(dir, "x.digest")}, &shown, &errs, nil); code != exitFine || !strings.Contains(shown.String(), "2 events") {
		t.Errorf("the digest that was kept: %d %s%s", code, shown.String(), errs.String())
	}
	candidate.Exec(t, "UPDATE shop.t SET a = 7 WHERE id = 2")
	o, _ = play(exitFindings, append(base, "--against", original.Address)...)
	if o.Compared.Different != 1 || len(o.Examples) != 1 || o.Examples[0].Differences[0].Is != "(7)" {
		t.Errorf("%+v", o.Examples)
	}
	candidate.Exec(t, "DELETE FROM shop.t WHERE id = 2")
	if o, _ = play(exitFindings, base...); o.Compared.Different != 1 {
		t.Errorf("%+v", o.Compared)
	}

	// Writes.
	writing := []string{log, "--to", candidate.Address, "--speed", "max", "--writes", "--throw-away", "bin", "--defaults-file"}
	if o, text := play(exitRefused, append(writing, account("replay"))...); o != nil || !strings.Contains(text, "grant PROCESS") {
		t.Error(text)
	}
	if o, text := play(exitRefused, append(writing, account("writer"))...); o != nil || !strings.Contains(text, "not marked as a server to throw away") || !strings.Contains(text, "INSERT INTO stowage_throw_away.this_server") {
		t.Error(text)
	}
	candidate.Exec(t, traffic.MarkerSQL("bin")...)
	if o, _ = play(exitFindings, append(writing, account("writer"))...); o.Sent.Write != 1 {
		t.Errorf("%+v", o.Sent)
	}
	if a := candidate.Value(t, "SELECT a FROM shop.t WHERE id = 1"); a != "5" {
		t.Errorf("the write was not applied: a is %s", a)
	}

	// The same in a workspace whose clients are sent there.
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	router := route.NewFile(filepath.Join(dir, "routing.json"))
	if err := router.Create(map[farm.PairName]*route.Pair{"dbshard001": route.NewPair(nil, candidate.Address, original.Address)}); err != nil {
		t.Fatal(err)
	}
	if o, text := play(exitRefused, append(writing, account("writer"))...); o != nil || !strings.Contains(text, "in rotation: side A of dbshard001") {
		t.Error(text)
	}
	if _, text := play(exitFindings, base...); !strings.Contains(text, "its clients will feel the reads") {
		t.Error(text)
	}

	// Stopped when its first statement has been sent; the next would come after a hundred seconds.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := func() string { // by a session of the recording, which is in its database: not what is asked before the first
		return candidate.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'replay' AND DB = 'shop'")
	}
	for sent() != "0" {
		farmtest.PauseTest() // those of the runs before
	}
	go func() {
		for sent() == "0" && ctx.Err() == nil {
			farmtest.PauseTest()
		}
		cancel()
	}()
	shown.Reset()
	slow := []string{"replay", log, "--to", candidate.Address, "--speed", "0.01", "--defaults-file", account("replay")}
	if code := run(ctx, slow, &shown, &errs, nil); code != exitInterrupted || !strings.Contains(shown.String(), "ended: interrupted") {
		t.Errorf("interrupted: %d\n%s", code, shown.String())
	}
}
