package move

import (
	"strings"
	"testing"

	"stowage/mysql"
)

// A new instance on a host for which the accounts file has no CA took the options of a server that takes logins over TLS only: it was copied, started, asked eight times, refused each time
// with "access denied", and undone.
func TestAServerThatWantsTLSNeedsItOnTheNewHost(t *testing.T) {
	own := mysql.Account{User: "stowage", Hosts: map[string]mysql.Account{"10.0.0.1": {User: "stowage", TLS: &mysql.TLS{}}}}
	p := func(wants string) peer {
		return peer{name: "pair1a", facts: mysql.Facts{Variables: map[string]string{"require_secure_transport": wants}}}
	}
	if got := askOwnTLS(p("ON"), own, "new1", "10.0.0.2:3306"); len(got) != 1 || !strings.Contains(got[0].Remedy, "[stowage@new1]") {
		t.Errorf("no CA for the new host: %+v", got)
	}
	for _, fine := range [][2]string{{"ON", "10.0.0.1:3306"}, {"OFF", "10.0.0.2:3306"}, {"", "10.0.0.2:3306"}} {
		if got := askOwnTLS(p(fine[0]), own, "new1", fine[1]); len(got) != 0 {
			t.Errorf("require_secure_transport %q, to %s: %+v", fine[0], fine[1], got)
		}
	}
}
