package copier

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"stowage/mysql"
)

// TestPrivilegesSuffice goes all the way, and back, with an account that has
// what docs/reference/privileges.md grants and nothing else.
func TestPrivilegesSuffice(t *testing.T) {
	t.Parallel() // it mostly waits
	page, err := os.ReadFile("../docs/reference/privileges.md")
	must(t, err)
	grants := regexp.MustCompile(`GRANT [A-Z_, \n]+ ON \*\.\* TO stowage@'%';`).FindAllString(string(page), -1)
	if len(grants) != 3 {
		t.Fatalf("docs/reference/privileges.md has %d grants for stowage, want its own, the one of single shards and the one of their replication", len(grants))
	}
	f := start(t, append(busy, "CREATE VIEW v AS SELECT id FROM k", "CREATE DEFINER = app@'%' PROCEDURE p() SELECT 1", "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
		"CREATE TRIGGER tr BEFORE INSERT ON k FOR EACH ROW SET NEW.v = NEW.v + 1")...)
	for _, i := range []interface{ Exec(testing.TB, ...string) }{f.from, f.to} {
		i.Exec(t, "CREATE USER narrow@'%' IDENTIFIED BY 'narrow'")
		for _, g := range grants {
			i.Exec(t, strings.TrimSuffix(strings.ReplaceAll(g, "stowage@", "narrow@"), ";"))
		}
	}
	account := mysql.Account{User: "narrow", Password: "narrow"}
	f.c.From = mysql.Open("source", f.from.Address, account, slog.New(slog.DiscardHandler))
	f.c.To = mysql.Open("target", f.to.Address, account, slog.New(slog.DiscardHandler))
	defer f.c.From.Close()
	defer f.c.To.Close()
	found, err := f.c.Refusals(t.Context())
	must(t, err)
	if len(found) > 0 {
		t.Fatalf("refused: %v", found)
	}
	f.carried(t)
	f.clean(t)
	fence, err := f.c.Fence(t.Context())
	must(t, err)
	must(t, fence.Unlock(t.Context())) // given up
	must(t, f.c.Unfence(t.Context()))
	f.cutOver(t)
	f.to.Exec(t, "INSERT INTO shop.k (v) VALUES (1)")
	fence, err = f.c.FenceBack(t.Context())
	must(t, err)
	must(t, fence.Reach(t.Context()))
	must(t, fence.Rename(t.Context()))
	must(t, fence.Unlock(t.Context()))
	must(t, f.c.Discard(t.Context()))
	f.carried(t)
	f.cutOver(t)
	f.equal(t, mysql.AsidePrefix)
	must(t, f.c.Settle(t.Context()))
}
