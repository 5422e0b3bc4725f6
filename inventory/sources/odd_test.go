package sources

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/inventory/claims"
)

// TestOddFiles: what strangers' files look like.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		spec         claims.Spec
		files        map[string]string
		want, faults string
	}{
		{"haproxy: the same names in every backend", claims.Spec{Kind: "haproxy", Path: "x"}, map[string]string{
			"x": "backend s1\n server a 10.0.0.1:3306\n server b 10.0.0.2:3306\nbackend s2\n server a 10.0.0.3:3306\n server b 10.0.0.2:3306\n"},
			"instance b address=10.0.0.2:3306 x:3\ninstance b address=10.0.0.2:3306 x:6", ""},
		{"haproxy: pages, sockets, ports of clients", claims.Spec{Kind: "haproxy", Path: "x"}, map[string]string{
			"x": "defaults\n mode http\nbackend web\n server w1 10.0.0.9:8080\nbackend db\n mode tcp\n server d1 10.0.0.1\n server d2 10.0.0.2:+1\n server d3 unix@/run/x.sock\n server d4 [::1]:3310\n server-template t 3 db:3306\n"},
			"instance d1 host=10.0.0.1 x:7\ninstance d2 host=10.0.0.2 x:8\ninstance d3 address=(a socket) x:9\ninstance d4 address=[::1]:3310 x:10", ""},
		{"host and port in two columns", claims.Spec{Kind: "csv", Path: "x", Called: "n", Attributes: map[string]string{"address": "H:P"}}, map[string]string{"x": "n,h,p\na,h1,3307\nb,h2,\nc,h3:9,1\n"},
			"instance a address=h1:3307 x:2\ninstance b address=h2 x:3\ninstance c address=h3:9 x:4", ""},
		{"host and port in two keys", claims.Spec{Kind: "php", Path: "x", Attributes: map[string]string{"address": "host:port"}}, map[string]string{
			"x": "<?php return ['s1' => ['host' => 'h1', 'port' => 3307, 'pass' => 'canary'], 's2' => ['host' => getenv('H'), 'port' => 1], 's3' => ['host' => 'h3']];"},
			"shard s1 address=h1:3307 x:1\nshard s2 address=(computed) x:1\nshard s3 address=h3 x:1", ""},
		{"host and port in two variables", claims.Spec{Kind: "ansible", Path: "h", Subject: claims.Instance, Attributes: map[string]string{"address": "ansible_host:mysql_port"}}, map[string]string{"h": "[a]\ndb1 ansible_host=10.0.0.1 mysql_port=3307\ndb2 mysql_port=1\n"},
			"instance db1 address=10.0.0.1:3307 h:2", ""},
		{"a quote that is not closed", claims.Spec{Kind: "csv", Path: "x", Called: "n", Attributes: map[string]string{"host": "h"}}, map[string]string{"x": "n,h\na,h1\n\"b,h2\nc,h3\nd,h4\n"},
			"instance a host=h1 x:2\ninstance c host=h3 x:4\ninstance d host=h4 x:5", "x:3 extraneous or missing \" in quoted-field"},
		{"two columns of one name", claims.Spec{Kind: "csv", Path: "x", Called: "n", Attributes: map[string]string{"host": "h"}}, map[string]string{"x": "n,h,H\na,h1,h2\n"},
			"", `x:1 two columns are called "h": which of them is meant?`},
		{"ansible: ports and addresses in names", claims.Spec{Kind: "ansible", Path: "h", Subject: claims.Host, Attributes: map[string]string{"ssh": "ansible_port"}}, map[string]string{"h": "db[1:2]:2222\n[::1]:22\nfe80::1\n[x]\na:23\n"},
			"host a ssh=23 h:5\nhost db1 ssh=2222 h:1\nhost db2 ssh=2222 h:1", "h:2 [::1]:22 is not a section: it is [group], [group:vars] or [group:children]"},
		{"ansible: a program in the directory", claims.Spec{Kind: "ansible", Path: "inv"}, map[string]string{"inv/a": "#!/bin/sh\nexec x\n", "inv/b": "[g]\ndb1 ansible_host=h1\n"},
			"host db1 address=h1 inv/b:2", "inv/a:1 this is a program; programs are not run here: give it to a source of kind exec"},
		{"options of Debian, collected", claims.Spec{Kind: "options", Path: "c/*/etc/mysql/my.cnf"}, map[string]string{
			"c/db1/etc/mysql/mariadb.cnf":      "[client-server]\nport=3310\n!includedir /etc/mysql/conf.d/\n!include /etc/nowhere.cnf\n",
			"c/db1/etc/mysql/conf.d/10-a.cnf":  "[mysqld]\nserver-id=10\n",
			"c/db1/etc/mysql/conf.d/9-b.cnf":   "[mysqld-10.11]\nserver-id=9\n",
			"c/db1/etc/mysql/conf.d/z.cnf.bak": "[mysqld]\nserver-id=1\n",
			"c/db1/etc/mysql/my.cnf":           "-> /etc/alternatives/my.cnf", "c/db1/etc/alternatives/my.cnf": "-> /etc/mysql/mariadb.cnf"},
			"instance db1:3310 server_id=9 c/db1/etc/mysql/conf.d/9-b.cnf:2", "c/db1/etc/mysql/my.cnf it includes /etc/nowhere.cnf, which is not there: collect it below c/db1"},
		{"a zero byte", claims.Spec{Kind: "csv", Path: "*.csv", Called: "n", Attributes: map[string]string{"host": "h"}}, map[string]string{"a.csv": "n,h\na,h1\n\x00\x00", "b.csv": "n,h\nb,h2\n"},
			"instance b host=h2 b.csv:2", "a.csv line 3: this is not text in UTF-8: there is a zero byte"},
	} {
		test.spec.Name = "x"
		said, faults := readTree(t, test.spec, test.files)
		want := test.want
		if got := strings.Join(said, "\n"); got != want {
			t.Errorf("%s: claims\n%s\nwant\n%s", test.name, got, want)
		}
		if got := strings.Join(faults, "\n"); got != test.faults {
			t.Errorf("%s: faults\n%s\nwant\n%s", test.name, got, test.faults)
		}
	}
}

// TestSecretsStayInTheirFiles: passwords in every place that a format has for
// one, under names that do not look like it.
func TestSecretsStayInTheirFiles(t *testing.T) {
	t.Parallel()
	const url, pdo, goDSN = "mysql://u:canary@h1:3307/s1", "mysql:host=h1;user=u;password=canary;dbname=s1", "u:canary@tcp(h1:3307)/s1"
	any := map[string]string{"place": "v", "primary": "w"}
	for name, x := range map[string]struct {
		spec claims.Spec
		text string
	}{
		"csv":        {claims.Spec{Kind: "csv", Called: "n", Attributes: any}, "n,v,w\n" + url + "," + pdo + "," + goDSN + "\nredis://u:canary@h/1,http://u:can/canary@h,x\n"},
		"json":       {claims.Spec{Kind: "json", Called: "n", Attributes: any}, `[{"n": "` + url + `", "v": "` + pdo + `", "w": "` + goDSN + `"}, "canary" "canary"]`},
		"yaml":       {claims.Spec{Kind: "yaml", Called: "n", Attributes: any}, "- {n: '" + goDSN + "', v: '" + url + "', w: '" + pdo + "'}\n"},
		"php":        {claims.Spec{Kind: "php", Attributes: any}, "<?php return ['" + url + "' => ['v' => '" + pdo + "', 'w' => '" + goDSN + "'], 'x' => ['v' => canary('canary')]];"},
		"properties": {claims.Spec{Kind: "properties", Attributes: any}, "s1.v=" + url + "\ns1.w=" + goDSN + "\n"},
		"ansible":    {claims.Spec{Kind: "ansible", Attributes: any}, "[g]\nh1 v=" + url + " w='" + pdo + "'\nh2 ansible_password=x canary\n[g:vars]\nansible_password: canary\n"},
		"inv.yml":    {claims.Spec{Kind: "ansible", Attributes: any}, "g:\n  hosts: {h1: {v: '" + url + "'}}\n  vars: ansible_password=canary\n"},
		"haproxy":    {claims.Spec{Kind: "haproxy"}, "listen x\n server " + url + " " + goDSN + "\n"},
		"exec":       {claims.Spec{Kind: "exec", Command: []string{"/bin/cat", "exec"}}, `{"kind":"shard","subject":"` + url + `","attribute":"at","value":"` + pdo + `","place":"http://u:canary@netbox/api"}`},
	} {
		x.spec.Path, x.spec.Name = name, "x"
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(x.text), 0o644))
		r := &reader{spec: x.spec, dir: dir}
		if err := r.read(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.claims) == 0 {
			t.Errorf("%s: only %d claims, faults %v", name, len(r.claims), r.faults)
		}
		for _, c := range r.claims {
			if strings.Contains(c.Subject.Name+c.Value+c.Place.Where, "canary") {
				t.Errorf("%s: a password in the claim %+v", name, c)
			}
		}
		for _, f := range r.faults {
			if strings.Contains(f.Text, "canary") {
				t.Errorf("%s: a password in the fault %+v", name, f)
			}
		}
	}
}

// TestASourceThatSaysNothing: a file of no bytes was rather cut than emptied. Its last claims stand.
func TestASourceThatSaysNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "lb")
	spec := claims.Spec{Name: "lb", Kind: "haproxy", Path: "lb", Covers: []claims.Kind{claims.Instance}}
	must(t, os.WriteFile(file, []byte("listen x\n server pa 10.0.0.1:3306\n"), 0o644))
	if r, _ := collect(t, dir, spec); r.HasFindings() {
		t.Fatalf("a farm that is as it should be: %+v", r.Conflicts)
	}
	must(t, os.WriteFile(file, nil, 0o644))
	r, _ := collect(t, dir, spec)
	if !slices.Equal(r.Stale, []string{"lb"}) || r.Sources[1].Why != "it says nothing" || r.Sources[1].Claims != 2 || len(r.Conflicts) != 0 {
		t.Errorf("stale %v, %+v, %+v", r.Stale, r.Sources[1], r.Conflicts)
	}
}

// TestAProgramWithChildren is ended with what it has started.
func TestAProgramWithChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &reader{spec: claims.Spec{Name: "x", Kind: "exec", Timeout: 300 * time.Millisecond, Command: []string{"/bin/sh", "-c", "(sleep 3; echo late > late) & sleep 60"}}, dir: dir}
	if err := r.read(t.Context()); err == nil || !strings.Contains(err.Error(), "did not end within") {
		t.Fatal(err)
	}
	time.Sleep(3500 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
		t.Error("what the program has started went on")
	}
}

// TestServersOfATemplate are known to DNS only: what is written is claimed, nothing counts as missing, nothing is a mistake, and the source says why.
func TestServersOfATemplate(t *testing.T) {
	for _, x := range []struct{ name, text, why, fault string }{
		{"of a listen section", "listen db\n server a 10.0.0.1:3306\n server-template b 1-3 db.example.org:3306 check\n", "lb:3: server-template has its servers from DNS", ""},
		{"of pages", "backend web\n mode http\n server-template w 3 w.example.org:80\nlisten db\n server a 10.0.0.1:3306\n", "", ""},
		{"cut", "listen db\n server a 10.0.0.1:3306\n server-template b 3\n", "", "server-template wants a prefix, a number and an address"},
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "lb"), []byte(x.text), 0o644))
		r := &reader{spec: claims.Spec{Name: "lb", Kind: "haproxy", Path: "lb"}, dir: dir}
		must(t, r.read(t.Context()))
		fault := ""
		for _, f := range r.faults {
			fault += f.Text
		}
		if r.why != x.why || fault != x.fault || len(r.claims) == 0 {
			t.Errorf("%s: %q, %q, %+v", x.name, r.why, fault, r.claims)
		}
	}
}

// TestAPrometheusThatHangs is named with how long it was waited for, and one that fails with its status alone where it gives no reason.
func TestAPrometheusThatHangs(t *testing.T) {
	for _, x := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see that the client has left
			<-r.Context().Done()
		}, "query up: no answer within "},
		{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "query up: 500 Internal Server Error"},
	} {
		server := httptest.NewServer(x.answer)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := (&reader{spec: claims.Spec{URL: server.URL}}).ask(ctx, "query", "up", nil)
		cancel()
		server.CloseClientConnections()
		server.Close()
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.HasSuffix(err.Error(), " ") {
			t.Errorf("%v", err)
		}
	}
}
