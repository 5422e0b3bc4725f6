package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/route"
)

// treeOf is every file of a directory by the hash of its bytes; of the index that readers of a store share, only that it is there.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") {
			out[path] = ""
			return err
		}
		raw, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%x", sha256.Sum256(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestServePages looks at every page of a workspace in which everything was done, and at the workspace afterwards.
func TestServePages(t *testing.T) {
	dir := servedWorkspace(t)
	before := treeOf(t, dir)
	s := serveNow(t, dir)
	s.enter()
	for path, wants := range map[string][]string{
		"/":                                 {"Farm small", `<span class="was">4</span>`, "<b>2</b>", "41.0 ms", "waiting for a person: 1", "/bench/show?f=bench%2fnew.json", "cannot be read", "unchanged", "1 slower, 2 unchanged", ">before<", "approve out --lane dbshard001/A"},
		"/moves":                            {"1 of 4", "dbshard002/B", "<code>seed</code>", "copied 12000 MB of 48000, 25 %", "approve out --lane dbshard001/A", `class="timeline"`, `id="pauses"`, `<svg class="shares"`, `<noscript><meta http-equiv="refresh"`},
		"/bench":                            {"bench/new.json", "Valid.", "bench/broken.json", "it is not JSON", "bench/decision.yaml", "INCONCLUSIVE"},
		"/bench/show?f=bench/new.json":      {`id="b-saturation"`, `class="bplot"`, "stowage bench show " + dir + "/bench/new.json"},
		"/bench/show?f=bench/decision.yaml": {"ext4-no-readahead", "stowage bench decide " + dir},
		"/bench/show?f=bench/new.json&f=bench/old.json": {"new against old", "8 better", `id="b-verdicts"`, "bench compare " + dir + "/bench/old.json " + dir + "/bench/new.json"},
		"/bench/show?f=bench/broken.json":               {"Cannot be read:", "it is not JSON", "give a file that bench run wrote"},
		"/backups":                                      {"farm.yaml names no place for backups", "stowage -C " + dir + " backup status"},
		"/plan":                                         {"4 hosts would become 2", `class="packing"`, "Proved optimal.", "plan show first"},
		"/proof":                                        {"Queries: inconclusive.", "The classes did not move alike: 1 slower, 0 faster, 2 unchanged", "slower", "select * from orders", "digest compare before after", "Saved digests"},
		"/report":                                       {`id="packing"`, `id="move"`, `id="traffic"`, `id="storage"`},
	} {
		status, text := s.get(path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not have %q", path, want)
			}
		}
	}
	if err := s.close(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if after := treeOf(t, dir); !maps.Equal(before, after) {
		for path := range after {
			if before[path] != after[path] {
				t.Errorf("%s is new, or has changed", path)
			}
		}
	}
}

// TestServeSaysWhatVerbsPrint compares the JSON of pages with that of the verbs.
func TestServeSaysWhatVerbsPrint(t *testing.T) {
	dir := servedWorkspace(t)
	s := serveNow(t, dir)
	s.enter()
	// How long a copy takes depends on when it is asked, and the next steps are those of a command that was typed.
	shown := regexp.MustCompile(`, [0-9hms]+ to go|,\n "next_steps": \[[^]]*\]`)
	for path, args := range map[string][]string{
		"/api/moves":                       {"status"},
		"/api/plan":                        {"plan", "show", "first"},
		"/api/proof":                       {"digest", "compare", "before", "after"},
		"/api/runway":                      {"capacity"},
		"/api/bench/show?f=bench/new.json": {"bench", "show", filepath.Join(dir, "bench/new.json")},
		"/api/bench/show?f=bench/old.json&f=bench/new.json": {"bench", "compare", filepath.Join(dir, "bench/old.json"), filepath.Join(dir, "bench/new.json")},
		"/api/bench/show?f=bench/decision.yaml":             {"bench", "decide", filepath.Join(dir, "bench/decision.yaml")},
	} {
		var out, errOut bytes.Buffer
		run(t.Context(), append(args, "--json", "-C", dir), &out, &errOut, nil)
		status, text := s.get(path)
		if status != http.StatusOK || out.Len() == 0 {
			t.Fatalf("%s: %d; %v: %s", path, status, args, errOut.String())
		}
		if got, want := shown.ReplaceAllString(text, ""), shown.ReplaceAllString(out.String(), ""); got != want {
			t.Errorf("%s differs from %v:\n%.600s\n%.600s", path, args, got, want)
		}
	}
	var overview map[string]any
	if _, text := s.get("/api/overview"); json.Unmarshal([]byte(text), &overview) != nil || overview["format_version"] != 1.0 || overview["hosts"] != 4.0 {
		t.Errorf("overview: %.600s", text)
	}
}

// TestServeGates has routing close a gate: every page says so, and no longer when it is open. What cannot be known is said.
func TestServeGates(t *testing.T) {
	dir := servedWorkspace(t)
	s := serveNow(t, dir)
	s.enter()
	router := route.NewFile(filepath.Join(dir, "routing.json"))
	pairs := map[farm.PairName]*route.Pair{} // its run has not ended and has noted nothing: routing init refuses
	for i, name := range []farm.PairName{"dbshard001", "dbshard002"} {
		pairs[name] = route.NewPair(nil, fmt.Sprintf("127.0.99.%d:3306", 2*i+1), fmt.Sprintf("127.0.99.%d:3306", 2*i+2))
	}
	if err := router.Create(pairs); err != nil {
		t.Fatal(err)
	}
	alarm := "GATE CLOSED: clients of dbshard002 side A are waiting"
	has := func(want bool) {
		t.Helper()
		for _, path := range []string{"/", "/moves", "/bench", "/plan"} {
			farmtest.Await(t, fmt.Sprintf("%s: alarm %v", path, want), func() bool { _, text := s.get(path); return strings.Contains(text, alarm) == want })
		}
	}
	has(false)
	gate := func(set func(*route.Pair, farm.SideName)) {
		t.Helper()
		if err := router.Change(t.Context(), "dbshard002", func(p *route.Pair) error { set(p, "A"); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	gate((*route.Pair).CloseGate)
	has(true)
	gate((*route.Pair).OpenGate)
	has(false)
	if err := os.WriteFile(filepath.Join(dir, "routing.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	farmtest.Await(t, "a table that cannot be read is said", func() bool {
		_, text := s.get("/moves")
		return strings.Contains(text, "Not known:") && strings.Contains(text, "routing.json:1")
	})
}

// TestServeProgram runs the program: what it prints, that nothing is made in a workspace where nothing is kept, and how it ends.
func TestServeProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--json", "--listen", "127.0.0.1:0", "-C", dir)
	cmd.Env = append(os.Environ(), playsProgram+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said served
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	s := visit(t, said)
	for _, path := range []string{"/", "/moves", "/bench", "/plan", "/proof", "/sources", "/runway", "/load", "/queries", "/findings", "/report", "/api/moves"} {
		if status, text := s.get(path); status != http.StatusOK || strings.Contains(text, "Cannot be read") {
			t.Errorf("%s of an empty workspace: %d\n%s", path, status, text)
		}
	}
	if _, text := s.get("/"); !strings.Contains(text, "No move has been begun") || !strings.Contains(text, "stowage plan") {
		t.Errorf("an empty workspace:\n%s", text)
	}

	again := exec.CommandContext(t.Context(), os.Args[0], "serve", "--listen", said.Listen, "-C", dir)
	again.Env = cmd.Env
	refusal, _ := again.CombinedOutput() // its exit code says it
	if text := string(refusal); again.ProcessState.ExitCode() != exitUsage || !strings.Contains(text, "listen on "+said.Listen+": unusable input: another process listens there") || !strings.Contains(text, "--listen 127.0.0.1:0") {
		t.Errorf("a port that is taken: exit %d\n%s", again.ProcessState.ExitCode(), text)
	}

	stream, err := s.http.Get(s.base + "/live") // a page that is open
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || errOut.Len() > 0 {
		t.Errorf("Ctrl-C: %v, want exit 0 and no word\n%s", err, errOut.String())
	}
	t.Logf("ended %v after Ctrl-C", time.Since(began).Round(time.Millisecond))
	if after := treeOf(t, dir); !maps.Equal(before, after) {
		t.Errorf("the workspace has changed: %v", after)
	}
}

// visit enters by what serve has printed.
func visit(t *testing.T, said served) *servedScene {
	t.Helper()
	host, _, err := net.SplitHostPort(said.Listen)
	if err != nil || host != "127.0.0.1" || !strings.HasPrefix(said.Link, "http://"+said.Listen+"/enter?token=") {
		t.Fatalf("printed %+v", said)
	}
	s := &servedScene{t: t, base: "http://" + said.Listen, link: said.Link, http: browserOf(t)}
	s.enter()
	return s
}
