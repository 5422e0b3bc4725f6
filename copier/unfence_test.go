package copier

import (
	"testing"

	"stowage/mysql/rows"
)

// TestUnfencedAtEveryPhase: whatever a cutover had come to when it failed, the source has its tables, names and triggers
// again, and no marks.
func TestUnfencedAtEveryPhase(all *testing.T) {
	f := start(all, "CREATE TABLE orders (id INT PRIMARY KEY, v INT)", "CREATE TABLE heard (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
		"CREATE TRIGGER hear AFTER INSERT ON orders FOR EACH ROW INSERT INTO heard (v) VALUES (NEW.v)", "INSERT INTO orders SELECT seq, seq FROM seq_1_to_50")
	f.carried(all)
	begin := func(t *testing.T) *Fence {
		t.Helper()
		fence, err := f.c.Fence(t.Context())
		must(t, err)
		return fence
	}
	for name, phase := range map[string]func(t *testing.T){
		"marks made": func(t *testing.T) { must(t, rows.MakeMarks(t.Context(), f.c.From, f.c.marks())) },
		"locked":     func(t *testing.T) { must(t, begin(t).release()) },
		"reached": func(t *testing.T) {
			fence := begin(t)
			must(t, fence.Reach(t.Context()))
			must(t, fence.release())
		},
		"triggers away, not marked as turned": func(t *testing.T) {
			fence := begin(t)
			must(t, fence.Reach(t.Context()))
			must(t, fence.Rename(t.Context()))
			must(t, fence.lock.Release())
			fence.lock = nil
			must(t, fence.rename.Wait(t.Context()))
			must(t, fence.reachAgain(t.Context()))
			must(t, fence.open(t.Context()))
			fence.renamed = true
			must(t, fence.release())
		},
	} {
		all.Run(name, func(t *testing.T) {
			phase(t)
			f.c = f.copy(all) // as another process would
			must(t, f.c.Unfence(t.Context()))
			if left := f.from.Value(t, `SELECT COALESCE(GROUP_CONCAT(TABLE_NAME), '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME LIKE '\_stow%'`); left != "" {
				t.Errorf("left on the source: %s", left)
			}
			if got := f.from.Value(t, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'"); got != "1" {
				t.Errorf("the source has %s triggers, want 1", got)
			}
			if got := f.to.Value(t, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'"); got != "0" {
				t.Errorf("the target has %s triggers, which would act on rows that hold their effect", got)
			}
			must(t, f.c.Carry(t.Context()))
			f.equal(t, "")
		})
	}
}
