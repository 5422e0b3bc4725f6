package inventory

import (
	"log/slog"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// A server that runs and does not let our account in, or lets it do too little, is
// no server to start. ("start it, or correct farm.yaml" was the remedy for a wrong
// password.)
func TestAccountsAtFaultAreTheRemedy(t *testing.T) {
	t.Parallel() // it mostly waits
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE USER weak@'%' IDENTIFIED BY 'weak-secret'")
	f := farmOf(100, nil, a.Host, "127.0.77.254") // nobody is at the second
	for _, x := range []struct{ password, text, remedy string }{
		{"wrong", "Access denied for user 'weak'", "make the account of group [stowage] there, or correct the accounts file"},
		{"weak-secret", "Access denied; you need", "grant it to the account of group [stowage]"},
	} {
		inv, err := Survey(t.Context(), f, func(name farm.InstanceName, address string) *mysql.Server {
			return mysql.Open(name, address, mysql.Account{User: "weak", Password: x.password}, slog.New(slog.DiscardHandler))
		}, nil)
		must(t, err)
		if len(inv.Findings) != 2 {
			t.Fatalf("findings %+v, want one for each server", inv.Findings)
		}
		if f := inv.Findings[0]; f.Severity != farm.Blocker || !strings.Contains(f.Text, x.text) || !strings.HasPrefix(f.Remedy, x.remedy) {
			t.Errorf("password %s: %+v, want %q and %q", x.password, f, x.text, x.remedy)
		}
		var text strings.Builder
		must(t, inv.WriteText(&text))
		if lines := strings.Split(text.String(), "\n"); !strings.Contains(lines[3], "access denied") || !strings.Contains(lines[4], "unreachable") {
			t.Errorf("the table does not tell a login from a server that is down:\n%s", &text)
		}
		if got := inv.Findings[1].Remedy; got != "start it, or correct farm.yaml" {
			t.Errorf("of a server that does not answer: %q", got)
		}
	}
}
