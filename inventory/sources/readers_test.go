package sources

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/inventory/claims"
)

// readTree writes files, reads them as one source, and returns what it claims,
// a line a claim, and its faults.
func readTree(t *testing.T, spec claims.Spec, files map[string]string) (said, faults []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			must(t, os.Symlink(to, path))
			continue
		}
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	r := &reader{spec: spec, dir: dir}
	if err := r.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	return lines(r)
}

func lines(r *reader) (said, faults []string) {
	for _, c := range r.claims {
		if c.Attribute == "" {
			continue
		}
		value := c.Value
		if c.Unknown {
			value = "(" + value + ")"
		}
		said = append(said, fmt.Sprintf("%s %s %s=%s %s", c.Subject.Kind, c.Subject.Name, c.Attribute, value, c.Place))
	}
	for _, f := range r.faults {
		faults = append(faults, f.Place+" "+f.Text)
	}
	return said, faults
}

// TestReaders: each format, with a line that nobody can read in the middle.
func TestReaders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		spec   claims.Spec
		files  map[string]string
		want   string
		faults string
	}{
		{"csv", claims.Spec{Kind: "csv", Path: "x.csv", Called: "Name", Attributes: map[string]string{"address": "IP", "server_id": "id"}}, map[string]string{
			"x.csv": "\ufeffName;Note;IP;id\r\ndb1;\"a;\nb\";10.0.0.1;7\r\ndb2;x;10.0.0.2\r\n\r\n;x;10.0.0.3;9\r\ndb4;x;10.0.0.4;\r\n"},
			"instance db1 address=10.0.0.1 x.csv:2\ninstance db1 server_id=7 x.csv:2\ninstance db4 address=10.0.0.4 x.csv:7", "x.csv:4 3 fields, and the header has 4\nx.csv:6 Name is empty"},
		{"a column that is not there", claims.Spec{Kind: "csv", Path: "x.csv", Called: "Name", Attributes: map[string]string{"address": "Addr"}}, map[string]string{"x.csv": "Name,IP\ndb1,1\n"},
			"", `x.csv:1 no column "Addr"; there are Name, IP`},
		{"tsv", claims.Spec{Kind: "tsv", Path: "x.tsv", Subject: claims.Host, Called: "n", Attributes: map[string]string{"memory": "m"}}, map[string]string{"x.tsv": "n\tm\ndb1\t5\" disk\n"},
			"host db1 memory=5\" disk x.tsv:2", ""},
		{"json by shard", claims.Spec{Kind: "json", Path: "x.json", Each: "shards.*", Attributes: map[string]string{"address": "dsn", "disk": "size"}}, map[string]string{
			"x.json": "{\"shards\": {\n \"s1\": {\"dsn\": \"mysql://u:p@ss/w@h1:3307,h2/s1?x=1\",\n  \"size\": 12345678901234567890},\n \"s2\": {\"dsn\": \"mysql:host=h3;port=3308;dbname=s2;password=x\"}}}"},
			"shard s1 address=h1:3307 x.json:2\nshard s1 address=h2:3306 x.json:2\nshard s1 disk=12345678901234567890 x.json:3\nshard s2 address=h3:3308 x.json:4", ""},
		{"json by list, cut", claims.Spec{Kind: "json", Path: "x.json", Called: "name", Attributes: map[string]string{"address": "host"}}, map[string]string{
			"x.json": "[{\"name\": \"s1\", \"host\": \"h1:3306\"},\n {\"name\": \"s2\" \"host\": 1}]"},
			"shard s1 address=h1:3306 x.json:1", "x.json:2 this is not JSON: invalid character '\"' after object key:value pair"},
		{"json by server", claims.Spec{Kind: "json", Path: "x.json", Called: "shards", Attributes: map[string]string{"address": "@key"}}, map[string]string{"x.json": `{"h1:3306": {"shards": ["s1", "s2"]}}`},
			"shard s1 address=h1:3306 x.json:1\nshard s2 address=h1:3306 x.json:1", ""},
		{"yaml with the database's name", claims.Spec{Kind: "yaml", Path: "x.yml", Each: "production.*", Called: "@dsn", Attributes: map[string]string{"address": "url"}}, map[string]string{
			"x.yml": "production:\n  one: &d {url: 'jdbc:mysql://h1:3307/s1'}\n  two:\n    <<: *d\n    url: mysql2://u@h2/s2\n  three: {url: \"mysql://<%= ENV['H'] %>/s3\"}\n"},
			"shard s1 address=h1:3307 x.yml:2\nshard s2 address=h2:3306 x.yml:5\nshard s3 address=(template) x.yml:6", ""},
		{"yaml that is none", claims.Spec{Kind: "yaml", Path: "*.yml", Each: "*", Attributes: map[string]string{"address": "h"}}, map[string]string{"a.yml": "s1: {h: h1}\ns1: {h: h2\n", "b.yml": "s2: {h: h2}\n"},
			"shard s2 address=h2 b.yml:1", "a.yml:3 this is not YAML: did not find expected ',' or '}'"},
		{"properties", claims.Spec{Kind: "properties", Path: "x.properties", Each: "spring.datasource.*", Attributes: map[string]string{"address": "url"}}, map[string]string{
			"x.properties": "# comment\nspring.datasource.s1.url=jdbc:mysql:\\\n  //h1:3307/s1\nspring.datasource.s2.url : jdbc:mysql://${DB}/s2\nspring.datasource.s2.password=canary\n = x\n"},
			"shard s1 address=h1:3307 x.properties:2\nshard s2 address=(template) x.properties:4", "x.properties:6 a line without a key"},
		{"properties, said twice", claims.Spec{Kind: "properties", Path: "x", Attributes: map[string]string{"address": "u"}}, map[string]string{"x": "s1.u=h1\ns1.u=h1\ns1.u=h2\n"},
			"shard s1 address=h1 x:1\nshard s1 address=h2 x:3", ""},
		{"ansible, said twice", claims.Spec{Kind: "ansible", Path: "hosts"}, map[string]string{"hosts": "[a]\ndb1 ansible_host=h1\n[b]\ndb1\ndb1 ansible_host=h2\n"},
			"host db1 address=h1 hosts:2\nhost db1 address=h2 hosts:5", ""},
		{"php", claims.Spec{Kind: "php", Path: "x.php", Each: "shards.*", Attributes: map[string]string{"address": "dsn", "disk": "size"}}, map[string]string{
			"x.php": "<?php\nconst H = 'h1';\n// 'x\n$a[1] = f(2);\nreturn ['shards' => array(\n 's1' => ['dsn' => 'mysql:host=' . H . ';port=3307', 'size' => 3306+1],\n 's2' => ['dsn' => getenv('X') ?: 'mysql:host=h2'],\n 3 => [ 'dsn' => \"mysql://u:canary@h3/x\" ],\n)];\n"},
			"shard s1 address=h1:3307 x.php:6\nshard s1 disk=(computed) x.php:6\nshard s2 address=(computed) x.php:7\nshard 3 address=h3:3306 x.php:8", ""},
		{"php, cut", claims.Spec{Kind: "php", Path: "x.php", Attributes: map[string]string{"address": "h"}}, map[string]string{"x.php": "<?php return [\n 's1' => ['h' => 'h1'],\n 's2' => ['h' => 'h2'"},
			"shard s1 address=h1 x.php:2\nshard s2 address=h2 x.php:3", "x.php:3 the array that begins here is not closed\nx.php:1 the array that begins here is not closed"},
		{"haproxy", claims.Spec{Kind: "haproxy", Path: "x.cfg"}, map[string]string{
			"x.cfg": "global\n server no 1.1.1.1:1\nlisten db\n  bind :3306\n  server db\\ 1 10.0.0.1:3306 check # comment\n  server db2\nbackend b\n  server \"db3\" ipv4@10.0.0.3:3306 backup\n  server db4 ${DB}:3306\n  server 'x\npeers p\n  server ha1 10.0.0.9:1024\n"},
			"instance db 1 address=10.0.0.1:3306 x.cfg:5\ninstance db3 address=10.0.0.3:3306 x.cfg:8\ninstance db4 address=(template) x.cfg:9", "x.cfg:6 server wants a name and an address\nx.cfg:10 a quote is not closed"},
		{"ansible ini", claims.Spec{Kind: "ansible", Path: "hosts", Subject: claims.Host, Attributes: map[string]string{"address": "ansible_host", "type": "tier", "memory": "mem"}}, map[string]string{
			"hosts":                "[dbs]\ndb[08:10] tier=host # comment\ndb1 ansible_host=10.0.0.1 port = 5\ndb[1:\n[dbs:vars]\nmem = 96GB\ntier=group\n[all:children]\ndbs\n",
			"group_vars/dbs/9.yml": "mem: 1GB\n", "group_vars/dbs/10.yml": "mem: 2GB\npassword: canary\n", "host_vars/db08.yml": "ansible_host: '10.0.{{ third }}.8'\nthird: 3\n", "host_vars/db08.json": "{\"ansible_host\": \"no\"}",
			"host_vars/db09.yml": "ansible_host: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n"},
			"host db08 address=10.0.3.8 host_vars/db08.yml:1\nhost db08 memory=1GB group_vars/dbs/9.yml:1\nhost db08 type=host hosts:2\nhost db09 address=(vaulted) host_vars/db09.yml:1\nhost db09 memory=1GB group_vars/dbs/9.yml:1\nhost db09 type=host hosts:2\n" +
				"host db1 address=10.0.0.1 hosts:3\nhost db1 memory=1GB group_vars/dbs/9.yml:1\nhost db1 type=group hosts:7\nhost db10 memory=1GB group_vars/dbs/9.yml:1\nhost db10 type=host hosts:2",
			"hosts:3 a word behind host db1 is not a key=value\nhosts:4 db[1: holds a range that cannot be read: it is [01:20] or [a:c]"},
		{"ansible yaml", claims.Spec{Kind: "ansible", Path: "inv.yml", Subject: claims.Instance, Called: "instance", Groups: []string{"db"}, Attributes: map[string]string{"address": "addr", "server_id": "id"}}, map[string]string{
			"inv.yml": "all:\n  vars: {id: 1}\n  children:\n    db:\n      hosts:\n        h[a:b]: {instance: '{{ inventory_hostname }}x', addr: '10.0.0.1:{{ p }}', p: 3307}\n        other:\n      vars: {id: 2}\n    web:\n      hosts: {w1: {instance: w}}\n    bad:\n      hosts: lone\n"},
			"instance hax address=10.0.0.1:3307 inv.yml:6\ninstance hax server_id=2 inv.yml:8\ninstance hbx address=10.0.0.1:3307 inv.yml:6\ninstance hbx server_id=2 inv.yml:8", "inv.yml:12 hosts of group bad must be keys and values, not a word: is a colon missing?"},
		{"options", claims.Spec{Kind: "options", Path: "hosts/*/my.cnf"}, map[string]string{
			"hosts/db1/my.cnf": "[mysqld]\nport = 3306\nserver-id=1 # one\n[mariadb-10.11]\nserver_id=11\n[client]\nport=9\n",
			"hosts/db2/my.cnf": "[mysqld]\nserver_id=1\ndatadir=/x\n[mysqld1]\nport=3307\nserver_id=2\n[mysqld\n[mysqld.s2]\nport=3308\nserver_id=3\n"},
			"instance db1:3306 server_id=11 hosts/db1/my.cnf:5\ninstance db2:3308 datadir=/x hosts/db2/my.cnf:3\ninstance db2:3308 server_id=3 hosts/db2/my.cnf:10\ninstance db2:3307 datadir=/x hosts/db2/my.cnf:3\ninstance db2:3307 server_id=2 hosts/db2/my.cnf:6", "hosts/db2/my.cnf:7 the group \"[mysqld\" is not closed"},
		{"options of the units mysqld@1 and mysqld@replica01.example", claims.Spec{Kind: "options", Path: "hosts/*/my.cnf"}, map[string]string{
			"hosts/db1/my.cnf": "[mysqld]\nread_only=1\n[mysqld@1]\nport=3307\nserver_id=1\n[mysqld@replica01.example]\nport=3308\nserver_id=2\n"},
			"instance db1:3307 read_only=1 hosts/db1/my.cnf:2\ninstance db1:3307 server_id=1 hosts/db1/my.cnf:5\ninstance db1:3308 read_only=1 hosts/db1/my.cnf:2\ninstance db1:3308 server_id=2 hosts/db1/my.cnf:8", ""},
		{"a program", claims.Spec{Kind: "exec", Command: []string{"/bin/sh", "-c", `echo '[{"kind":"host","subject":"db1","attribute":"address","value":"10.0.0.1","place":"nodes/db1.json","line":4},
{"kind":"box","subject":"db1"},{"kind":"instance","subject":"x","attribute":"server_id","value":7},{"kind":"host","subject":"db1","attribute":"root_password","value":"canary"},{"kind":"host","subject":"db1","attribute":"a","value":[1]}]'`}}, nil,
			"host db1 address=10.0.0.1 nodes/db1.json:4\ninstance x server_id=7 output of /bin/sh:2", "output of /bin/sh:2 claim 2 wants a kind (host, instance, pair or shard) and a subject\noutput of /bin/sh:2 claim 5: the value is neither a word nor a number"},
	} {
		test.spec.Name = "x"
		said, faults := readTree(t, test.spec, test.files)
		if got := strings.Join(said, "\n"); got != test.want {
			t.Errorf("%s: claims\n%s\nwant\n%s", test.name, got, test.want)
		}
		if got := strings.Join(faults, "\n"); got != test.faults {
			t.Errorf("%s: faults\n%s\nwant\n%s", test.name, got, test.faults)
		}
		if strings.Contains(strings.Join(slices.Concat(said, faults), "\n"), "canary") {
			t.Errorf("%s: a secret is in the claims", test.name)
		}
	}
}

func TestDSNs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mysql://u:p#x@h:3307/s":                   "h:3307 s",
		"jdbc:mysql:replication://h1:1,h2:2/s?x=y": "h1:1,h2:2 s",
		"jdbc:mariadb://h/s%20x":                   "h:3306 s x",
		"u:p@tcp(10.0.0.1:3307)/s?parseTime=true":  "10.0.0.1:3307 s",
		"u:p@unix(/run/x.sock)/s":                  " s",
		"mysql:host=h;port=1;dbname=s":             "h:1 s",
		"mysql:unix_socket=/x;dbname=s":            " s",
		"mysql+pymysql://u@[::1]:3310/s":           "[::1]:3310 s",
		"10.0.0.1:3306":                            "none",
		"postgres://h/s":                           "none",
	} {
		d, ok := parseDSN(text)
		got := strings.Join(d.addresses, ",") + " " + d.database
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"db": "db", "db[8:10]": "db8 db9 db10", "db[08:10]": "db08 db09 db10", "db[a:e:2]x": "dbax dbcx dbex", "[1:2]-[:1]": "1-0 1-1 2-0 2-1",
		"db[1:9:9223372036854775807]": "error", "db[a:z:9999999999999999999]": "error", "db[5:3]": "error", "db[99999999999999999999:99999999999999999999]": "error",
		"db[001:3]": "error", "db[1:99999999]": "error", "db[a:3]": "error", "db]": "error",
	} {
		names, err := ranges(pattern)
		got := strings.Join(names, " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}
