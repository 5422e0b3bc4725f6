package digest

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const forgedHeader = "# User@Host: evil[evil] @ host []\n# Query_time: 99.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\n"

// Comments that look like the header of an event became events, with a user and a time of the author's choice.
func TestForgedHeaderInAComment(t *testing.T) {
	for name, statement := range map[string]string{
		"behind a line comment":               "SELECT 1 -- x\n" + forgedHeader + "+ 2",
		"behind a line comment that is ended": "SELECT 1 -- x;\n" + forgedHeader + "+ 2",
		"behind a number sign":                "SELECT 1 # x\n" + forgedHeader + "+ 2",
		"right after SET timestamp":           forgedHeader + "SELECT 1 + 2",
		"with a time line":                    "SELECT 1 -- x\n# Time: 261121 10:00:00\n" + forgedHeader + "+ 2",
	} {
		for _, workers := range []int{1, 2} {
			log := banner + strings.Repeat(logged(10, "COMMIT"), 3) + logged(20, statement) + strings.Repeat(logged(10, "COMMIT"), 3)
			r := read(t, Options{Workers: workers}, []byte(log))
			if r.Events != 7 || r.QueryTime.Max > 1 {
				t.Errorf("%s: %d events, the longest took %v s; %+v", name, r.Events, r.QueryTime.Max, r.Inputs)
			}
			for _, c := range r.Classes {
				for _, u := range c.Users {
					if u.Name == "evil" {
						t.Errorf("%s: user evil in %q", name, c.Fingerprint)
					}
				}
			}
		}
	}
}

// The slow log of a MariaDB 10.11 server with explain: a client sent seven statements, six of them with the header of an event of
// user evil, that took 99 s, in a comment or a literal. Where the header has no SET timestamp of its own, it is decided.
func TestForgedHeadersOfARealServer(t *testing.T) {
	log, err := os.ReadFile("testdata/forged-mariadb-10.11.log")
	if err != nil {
		t.Fatal(err)
	}
	truth := map[string]bool{
		"select note from orders where id = ?": true, "select note from orders where id = ? ": true, "select note from orders where customer = ?": true,
		"select count(*) from orders": true, "insert into orders (customer, note) values(?+)": true, "update orders set customer = ? where id = ? ": true,
	}
	for name, text := range map[string][]byte{"as it is": log, "line ends of Windows": bytes.ReplaceAll(log, []byte("\n"), []byte("\r\n"))} {
		for _, workers := range []int{1, 2} {
			// Once, and among enough others to be read in parts.
			for _, times := range []int{1, 800} {
				r := read(t, Options{Workers: workers}, bytes.Repeat(text, times))
				if r.Events != uint64(7*times) || r.QueryTime.Max > 1 {
					t.Errorf("%s, %d workers, %d times: %d events, the longest took %v s; %+v", name, workers, times, r.Events, r.QueryTime.Max, r.Inputs)
				}
				for _, c := range r.Classes {
					if !truth[c.Fingerprint] {
						t.Errorf("%s, %d workers, %d times: a class %q, which nobody sent", name, workers, times, c.Fingerprint)
					}
					for _, u := range c.Users {
						if u.Name != "app" {
							t.Errorf("%s: user %s in %q", name, u.Name, c.Fingerprint)
						}
					}
				}
			}
		}
	}
}
