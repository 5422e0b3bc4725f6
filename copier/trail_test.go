package copier

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"stowage/mysql"
)

// The trail has a line for each chunk that was written, and one for changes of
// the binary log, with table, rows and numbers of keys, and no value of a row.
func TestTrailOfACopyHasNoValues(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE numbered (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO numbered VALUES (7, 'canary'), (900, 'canary')",
		"CREATE TABLE named (name VARCHAR(20) PRIMARY KEY, v INT)", "INSERT INTO named VALUES ('canary', 7654321)")
	var mu sync.Mutex
	var said []string
	ctx := mysql.WithTrail(t.Context(), func(s mysql.Sent) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, s.Statement)
	})
	must(t, f.c.Prepare(ctx))
	must(t, f.c.Carry(ctx))
	must(t, f.c.Finish(ctx))
	f.from.Exec(t, "INSERT INTO shop.numbered VALUES (901, 'canary')")
	fence, err := f.c.Fence(ctx)
	must(t, err)
	must(t, fence.Reach(ctx))
	must(t, fence.Unlock(ctx))
	for _, want := range []string{"LOAD 2 rows REPLACE INTO `shop`.`numbered`, keys to 900", "LOAD 1 row REPLACE INTO `shop`.`named`, part 0", "carry changes of the binary log INTO `shop`.`numbered`"} {
		if !slices.Contains(said, want) {
			t.Errorf("the trail has no line %q\n%s", want, strings.Join(said, "\n"))
		}
	}
	for _, line := range said {
		for _, value := range []string{"canary", "63616e617279", "7654321"} {
			if strings.Contains(strings.ToLower(line), value) {
				t.Errorf("the trail has a value: %s", line)
			}
		}
	}
}
