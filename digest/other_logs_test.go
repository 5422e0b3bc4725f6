package digest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A slow log in a syslog was a file of unknown text. Lines of sshd and of another server stand in between.
func TestSlowLogInASyslog(t *testing.T) {
	var plain, rfc3164, rfc3339 strings.Builder
	for i := range 200 {
		text := fmt.Sprintf("# User@Host: app[app] @ web []\n# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\nSELECT %d\n\tFROM t;\n", 1795000000+i, i)
		plain.WriteString(text)
		for line := range strings.Lines(text) {
			fmt.Fprintf(&rfc3164, "<30>Nov 18 11:06:4%d db1 mariadbd[812]: %s", i%10, strings.ReplaceAll(line, "\t", "#011"))
			fmt.Fprintf(&rfc3339, "2026-11-18T11:06:4%d.123456+00:00 db1 mysqld[812]: %s", i%10, line)
		}
		fmt.Fprintf(&rfc3164, "Nov 18 11:06:40 db1 sshd[9]: Accepted publickey for root\n")
		fmt.Fprintf(&rfc3339, "2026-11-18T11:06:40+00:00 db2 mysqld[812]: SELECT 'of another server';\n")
	}
	want := read(t, Options{}, []byte(plain.String()))
	for name, log := range map[string]string{"RFC 3164": rfc3164.String(), "RFC 3339": rfc3339.String()} {
		got := read(t, Options{Workers: 2}, []byte(log))
		if got.Events != 200 || got.ClassCount != 1 || got.Classes[0].ID32 != want.Classes[0].ID32 || got.QueryTimeSum != want.QueryTimeSum {
			t.Errorf("%s: %d events in %d classes, %+v", name, got.Events, got.ClassCount, got.Inputs)
			continue
		}
		if notes := got.Inputs[0].Notes; len(notes) != 1 || notes[0].Count != 200 || !strings.Contains(notes[0].Reason, "other programs") {
			t.Errorf("%s: %+v", name, got.Inputs)
		}
	}
}

// ProxySQL writes an object a line; what is none is counted.
func TestProxySQLLog(t *testing.T) {
	log := `{"client":"10.0.0.9:41234","digest":"0x1","duration_us":1500,"event":"COM_QUERY","query":"SELECT name FROM users WHERE id = 5","rows_affected":0,"rows_sent":1,"schemaname":"shop","server":"10.0.0.1:3306","starttime_timestamp_us":1795000000000000,"thread_id":3,"username":"app"}
{"client":"10.0.0.9:41234","digest":"0x1","duration_us":2500,"event":"COM_STMT_EXECUTE","query":"SELECT name FROM users WHERE id = ?","rows_affected":0,"rows_sent":1,"schemaname":"shop","server":"10.0.0.1:3306","starttime_timestamp_us":1795000001000000,"thread_id":3,"username":"app"}
{"client":"10.0.0.9:41234","digest":"0x2","duration_us":9000,"errno":1062,"event":"COM_QUERY","query":"INSERT INTO users VALUES (1)","rows_affected":0,"rows_sent":0,"schemaname":"shop","server":"10.0.0.1:3306","starttime_timestamp_us":1795000002000000,"thread_id":3,"username":"app"}
{"client":"10.0.0.9:41234","duration_us":
`
	r := read(t, Options{}, []byte(log))
	if r.Events != 3 || r.ClassCount != 2 || r.Inputs[0].Type != "proxysql" || len(r.Inputs[0].Skipped) != 1 || r.Inputs[0].Skipped[0].Count != 1 {
		t.Fatalf("%+v", r)
	}
	if c := r.Classes[0]; c.QueryTime.Max != 0.009 || c.Flags["error"] != 1 || c.Users[0].Name != "app" || c.Hosts[0].Name != "10.0.0.9" || c.DBs[0].Name != "shop" {
		t.Errorf("%+v", c)
	}
	if c := r.Classes[1]; c.Count != 2 || c.ID16 != "A8097746426FE6BD" || c.FirstSeen.Unix() != 1795000000 {
		t.Errorf("%+v", c)
	}
}

// id = X asks for a class as its reports name it.
func TestFilterByID(t *testing.T) {
	log := banner + logged(10, "SELECT name FROM users WHERE id = 5") + logged(11, "SELECT name FROM users WHERE id = 6") + logged(12, "COMMIT")
	for expression, want := range map[string]uint64{
		"id = A8097746426FE6BD": 2, "id = a8097746426fe6bd": 2, "not id = A8097746426FE6BD": 1, "id = A80977*": 2, "id = 00": 0, "id != A8097746426FE6BD": 1,
	} {
		f, err := ParseFilter(expression)
		if err != nil {
			t.Fatal(err)
		}
		b := New(Options{Filter: f})
		if err := b.Read("log", bytes.NewReader([]byte(log))); err != nil {
			t.Fatal(err)
		}
		if got := b.Digest().Events(); got != want {
			t.Errorf("%s: %d events, want %d", expression, got, want)
		}
	}
}

// Logs as containers keep them were files of unknown text, and what CRI had cut at 16 kB lost its beginning: an INSERT became a class of its
// last letters. The server's own messages stand in between, from another stream.
func TestSlowLogOfAContainer(t *testing.T) {
	var plain strings.Builder
	forms := map[string]*strings.Builder{}
	add := func(form, text string) {
		if forms[form] == nil {
			forms[form] = &strings.Builder{}
		}
		forms[form].WriteString(text)
	}
	const at = "2026-11-18T11:06:40.123456789Z "
	for i := range 50 {
		text := fmt.Sprintf("# User@Host: app[app] @ web []\n# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\nINSERT INTO t VALUES ('%s',\n'#012')\n;\n", 1795000000+i, strings.Repeat("x", 40_000*(i%2)))
		plain.WriteString(text)
		for line := range strings.Lines(text) {
			add("docker logs -t", at+line)
			add("docker compose logs", "db-1     | "+line)
			add("kubectl logs --prefix --timestamps", "[pod/db-0/mariadb] "+at+line)
			add("RFC 5424", `<30>1 2026-11-18T11:06:40.1Z db1 mysqld 7 - [x@1 a="\]"] `+strings.ReplaceAll(line, "'#012'", "'x'"))
			message, _ := json.Marshal(strings.TrimSuffix(line, "\n"))
			add("journalctl -o json", fmt.Sprintf(`{"_HOSTNAME":"db1","SYSLOG_IDENTIFIER":"mysqld","MESSAGE":%s}`+"\n", message))
			for len(line) > 0 {
				piece, mark := line[:min(len(line), 16<<10)], "F"
				if line = line[len(piece):]; line != "" {
					mark = "P"
				}
				log, _ := json.Marshal(piece)
				add("json-file", fmt.Sprintf(`{"log":%s,"stream":"stdout","time":"2026-11-18T11:06:40Z"}`+"\n", log))
				add("CRI", at+"stdout "+mark+" "+strings.TrimSuffix(piece, "\n")+"\n")
			}
		}
		add("json-file", `{"log":"2026-11-18 11:06:40 0 [Note] ready\n","stream":"stderr","time":"2026-11-18T11:06:40Z"}`+"\n")
		add("CRI", at+"stderr F 2026-11-18 11:06:40 0 [Note] ready\n")
	}
	want := read(t, Options{}, []byte(plain.String()))
	for form, log := range forms {
		got := read(t, Options{Workers: 2}, []byte(log.String()))
		if got.Events != 50 || got.ClassCount != 1 || got.Classes[0].ID32 != want.Classes[0].ID32 || got.QueryTimeSum != 25 || len(got.Inputs[0].Skipped) > 0 {
			t.Errorf("%s: %d events in %d classes, %+v", form, got.Events, got.ClassCount, got.Inputs)
			continue
		}
		notes := got.Inputs[0].Notes
		if others := form == "CRI" || form == "json-file"; others != (len(notes) == 1) || others && notes[0].Count != 50 {
			t.Errorf("%s: %+v", form, notes)
		}
	}
	// A message that is not UTF-8 is numbers there.
	w, ok := inJSON([]byte(`{"_HOSTNAME":"db1","SYSLOG_IDENTIFIER":"mysqld","MESSAGE":[83,39,255,39,59]}`))
	if !ok || string(w.says) != "S'\xff';\n" || string(w.from) != "db1 mysqld" {
		t.Errorf("a message in numbers: %q of %q", w.says, w.from)
	}
}
