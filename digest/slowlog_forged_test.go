package digest

import (
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
