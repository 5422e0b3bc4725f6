package vault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

func fileOf(t *testing.T, content []byte) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "piece")
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.Write(content)
	must(t, err)
	return f
}

// TestJournal: pieces come back as they were kept, with their labels. Sets do not know them, forget with rules leaves them, and a byte that has changed is
// named.
func TestJournal(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: twenty calls of restic's")
	}
	t.Parallel()
	at := filepath.Join(t.TempDir(), "repository")
	r := newRestic(t, at)
	if _, err := r.Pieces(t.Context(), "a/log"); err == nil || !strings.Contains(farm.Hint(err), "backup run") {
		t.Errorf("no repository: %v, hint %q", err, farm.Hint(err))
	}
	if err := r.Append(t.Context(), "a/log", "p0", nil, fileOf(t, []byte("x"))); err == nil {
		t.Error("a piece made a repository")
	}
	kept(t, r, "a/b")
	pieces := [][]byte{pattern(100), pattern(300_000), pattern(7)}
	for n, p := range pieces {
		must(t, r.Append(t.Context(), "a/log", "p"+string(rune('1'+n)), map[string]string{"to": "bl.000001:4", "has": "0-1-5+1-2-7", "empty": ""}, fileOf(t, p)))
	}
	must(t, r.Append(t.Context(), "b/log", "p1", nil, fileOf(t, []byte("another's"))))
	for name, labels := range map[string]map[string]string{"comma": {"x": "a,b"}, "line": {"x": "a\nb"}, "own": {"sha256": "x"}, "-flag": nil} {
		if err := r.Append(t.Context(), "a/log", name, labels, fileOf(t, []byte("x"))); !errors.Is(err, farm.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Append(t.Context(), "a/log", "empty", nil, fileOf(t, nil)); !errors.Is(err, errEmpty) {
		t.Error(err)
	}
	all, err := r.Pieces(t.Context(), "a/log")
	must(t, err)
	if len(all) != len(pieces) {
		t.Fatalf("%+v", all)
	}
	for n, p := range all {
		var out bytes.Buffer
		must(t, r.Read(t.Context(), "a/log", p, &out))
		if !bytes.Equal(out.Bytes(), pieces[n]) || p.Labels["has"] != "0-1-5+1-2-7" || p.Labels["to"] != "bl.000001:4" || p.Bytes != int64(len(pieces[n])) {
			t.Errorf("%d: %d bytes, %+v", n, out.Len(), p)
		}
	}
	if sets, err := r.Sets(t.Context(), ""); err != nil || len(sets) != 1 {
		t.Errorf("%d sets, %v", len(sets), err)
	}
	must(t, r.Remove(t.Context(), "a/b"))
	must(t, r.run(t.Context(), "forget", "--keep-last", "1")) // a person's retention
	if all, err = r.Pieces(t.Context(), "a/log"); err != nil || len(all) != len(pieces) {
		t.Errorf("after forget: %d pieces, %v", len(all), err)
	}
	other := all[1]
	other.SHA256 = strings.Repeat("a", 64)
	if err := r.Read(t.Context(), "a/log", other, &bytes.Buffer{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "a/log/p2") {
		t.Errorf("another sum: %v", err)
	}
	must(t, r.Forget(t.Context(), "a/log", all[:2], true))
	if all, err = r.Pieces(t.Context(), "a/log"); err != nil || len(all) != 1 || !strings.HasSuffix(all[0].Path, "/p3") {
		t.Errorf("after Forget: %+v, %v", all, err)
	}
	must(t, r.Prune(t.Context()))
	packs, err := filepath.Glob(filepath.Join(at, "data", "*", "*"))
	must(t, err)
	for _, p := range packs {
		raw, err := os.ReadFile(p)
		must(t, err)
		raw[len(raw)/3] ^= 1
		must(t, errors.Join(os.Chmod(p, 0o600), os.WriteFile(p, raw, 0o600)))
	}
	if err := r.Uncached().Read(t.Context(), "a/log", all[0], &bytes.Buffer{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("flipped bits in %d packs: %v", len(packs), err)
	}
}

// TestJournalOfARepositoryThatIsDown: nobody waits for long, and the message says where and what to do.
func TestJournalOfARepositoryThatIsDown(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: each call of restic's takes a second")
	}
	t.Parallel()
	r := newRestic(t, "rest:http://127.0.0.1:1/none")
	begin := time.Now()
	_, err := r.Pieces(t.Context(), "a/log")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || farm.Hint(err) == "" || time.Since(begin) > listPatience+10*time.Second {
		t.Errorf("after %v: %v, hint %q", time.Since(begin), err, farm.Hint(err))
	}
	t.Logf("after %v: %v, hint %q", time.Since(begin).Round(time.Millisecond), err, farm.Hint(err))
}
