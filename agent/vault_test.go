package agent_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stowage/agent"
	"stowage/farm"
	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/turns"
	"stowage/vault"
)

// A copy goes into a vault of the same host, or of another, and from there into a data directory: with an incremental one on top, the
// restored server has the rows of both moments, and a byte that was changed in the vault is named.
func TestCopyGoesThroughAVault(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	for _, at := range []farm.HostName{"db001", "db002"} {
		t.Run(string(at), func(t *testing.T) {
			p := newPair(t)
			ctx := t.Context()
			keeper := map[farm.HostName]*agent.Remote{"db001": p.from, "db002": p.to}[at]
			place := vault.Place{Dir: t.TempDir()}
			v := keeper.Vault(place)
			keep := func(set, name string, since uint64) host.Copied {
				t.Helper()
				into := host.Stored{Place: place, Set: set, Name: name}
				from := p.copy.Origin
				from.Since, from.InOrder = since, true
				out, err := host.Copy{From: p.from, Origin: from, To: keeper, Target: host.Destination{Stored: into}}.Run(ctx)
				must(t, err)
				sets, err := v.Sets(ctx, "")
				must(t, err)
				if slices.ContainsFunc(sets, func(m vault.Manifest) bool { return m.Set == set }) {
					t.Errorf("%s is not sealed, and is listed", set)
				}
				must(t, v.Seal(ctx, vault.Manifest{FormatVersion: vault.Format, Set: set, Parts: []vault.Part{out.Part}, About: json.RawMessage(`{"of":"test"}`)}, nil))
				return out
			}
			base := keep("source/1-full", "base.xb", 0)
			if base.Seed.File == "" || base.ToLSN == 0 || base.FromLSN != 0 || base.Files == 0 || base.Bytes != base.Part.Raw {
				t.Errorf("the full copy is %+v", base)
			}
			p.source.Exec(t, "INSERT INTO d.t SELECT seq, REPEAT(MD5(seq), 20) FROM d.seq_20001_to_21000", "DELETE FROM d.t WHERE id <= 1000")
			delta := keep("source/2-incremental", "delta.xb", base.ToLSN)
			if delta.FromLSN != base.ToLSN || delta.ToLSN < base.ToLSN || delta.Bytes >= base.Bytes {
				t.Errorf("the incremental copy is %+v", delta)
			}
			for n, from := range []host.Stored{{Place: place, Set: "source/1-full", Name: "base.xb"}, {Place: place, Set: "source/2-incremental", Name: "delta.xb"}} {
				_, err := host.Copy{From: keeper, Origin: host.Origin{Stored: from}, To: p.to, Target: host.Destination{Instance: p.copy.Target.Instance, Delta: n > 0}}.Run(ctx)
				must(t, err)
				if n == 0 {
					_, err := p.to.Prepare(ctx, p.copy.Target.Instance)
					must(t, err)
				}
			}
			p.finish(t)
			if got := hosttest.Value(t, p.copy.Target.Instance, "SELECT MIN(id) FROM d.t"); got != "1001" {
				t.Errorf("the first row is %s: the incremental copy is not in it", got)
			}
			must(t, v.Check(ctx, "source/1-full"))
			files, err := filepath.Glob(filepath.Join(place.Dir, "source", "1-full", "base.xb*"))
			must(t, err)
			flip(t, files[0])
			if err := v.Check(ctx, "source/1-full"); !errors.Is(err, vault.ErrDamaged) {
				t.Errorf("a byte was changed, and it says %v", err)
			}
			must(t, os.WriteFile(filepath.Join(place.Dir, "source", "1-full", "manifest.json"), []byte("{}\n"), 0o600))
			if sets, err := v.Sets(ctx, ""); !errors.Is(err, vault.ErrDamaged) || len(sets) != 1 || sets[0].Set != "source/2-incremental" {
				t.Errorf("one manifest is damaged, and of two sets it lists %+v and says %v", sets, err)
			}
			must(t, v.Remove(ctx, "source/2-incremental"))
			if err := v.Check(ctx, "source/2-incremental"); !errors.Is(err, vault.ErrNone) {
				t.Errorf("it is removed, and it says %v", err)
			}
		})
	}
}

// flip changes one byte in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	st, err := f.Stat()
	must(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, st.Size()/2)
	must(t, err)
	_, err = f.WriteAt([]byte{b[0] ^ 1}, st.Size()/2)
	must(t, err)
}
