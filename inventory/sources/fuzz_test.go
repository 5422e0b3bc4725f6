package sources

import (
	"strings"
	"testing"

	"stowage/inventory/claims"
)

// anyFile: whatever a file holds, its reader ends, its places are in the file,
// and no claim is without a subject.
func anyFile(f *testing.F, spec claims.Spec, read func(r *reader, src []byte), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return // longer ones say no more
		}
		r := &reader{spec: spec, dir: t.TempDir()}
		read(r, src)
		most := strings.Count(string(src), "\n") + 2
		for _, c := range r.claims {
			if c.Place.Line < 0 || c.Place.Line > most {
				t.Errorf("claim %+v is beyond the %d lines of the file", c, most)
			}
		}
		for _, x := range r.faults {
			if x.Text == "" || x.Place == "" {
				t.Errorf("fault %+v", x)
			}
		}
	})
}

var fuzzedSpec = claims.Spec{Name: "x", Called: "name", Attributes: map[string]string{"address": "host", "server_id": "id"}}

func keyed() claims.Spec {
	s := fuzzedSpec
	s.Called, s.Each = "", "*.*"
	return s
}

func FuzzCSV(f *testing.F) {
	anyFile(f, fuzzedSpec, func(r *reader, src []byte) { r.table("x", src) }, "name,host,id\na,b,1\n", "name;host;id\n\"a\n\";b;1\n")
}

func FuzzJSON(f *testing.F) {
	anyFile(f, keyed(), func(r *reader, src []byte) { r.json("x", src) }, `{"a": {"s": {"host": "mysql://h/x", "id": 1}}}`, `[[`)
}

func FuzzYAML(f *testing.F) {
	anyFile(f, keyed(), func(r *reader, src []byte) { r.yaml("x", src) }, "a: &x {s: {host: h}}\nb:\n  <<: *x\n  t: {id: !vault 1}\n", "a: [*a]")
}

func FuzzPHP(f *testing.F) {
	anyFile(f, keyed(), func(r *reader, src []byte) { r.php("x", src) }, "<?php return ['a' => ['s' => ['host' => 'h' . X, 'id' => f(1)]]];", "<?php define('A', [\"$b\"", "<?php $x = array(1 => /*")
}

func FuzzProperties(f *testing.F) {
	anyFile(f, keyed(), func(r *reader, src []byte) { r.properties("x", src) }, "a.s.host = h\\\n 1\na.s.id: 2\n", "\\=\n")
}

func FuzzHAProxy(f *testing.F) {
	anyFile(f, claims.Spec{}, func(r *reader, src []byte) { r.haproxy("x", src) }, "listen x\n server a 1.1.1.1:1 # x\n", "backend b\nserver 'a")
}

func FuzzAnsibleINI(f *testing.F) {
	anyFile(f, fuzzedSpec, func(r *reader, src []byte) { inventoryOf(r).ini("x", string(src)) }, "[a]\ndb[1:3] host=h\n[a:vars]\nid=1\n[b:children]\na\n", "[a:x\n")
}

func FuzzAnsibleYAML(f *testing.F) {
	anyFile(f, fuzzedSpec, func(r *reader, src []byte) {
		a := inventoryOf(r)
		a.yamlInventory("x", src)
		a.claim(nil)
	}, "all:\n  hosts: {a: {name: x, host: '{{ name }}'}}\n  children: {all: {vars: {name: '{{ name }}'}}}\n")
}

func inventoryOf(r *reader) *ansible {
	return &ansible{reader: r, hosts: map[string]map[string]variable{}, places: map[string]claims.Place{}, groups: map[string]*ansibleGroup{}}
}

func FuzzToldClaims(f *testing.F) {
	anyFile(f, claims.Spec{}, func(r *reader, src []byte) { r.toldClaims("x", src) }, `[{"kind":"host","subject":"a","attribute":"address","value":1}]`, `{"kind":"host"}{`)
}

func FuzzSamples(f *testing.F) {
	anyFile(f, claims.Spec{URL: "http://x"}, func(r *reader, src []byte) { _ = r.samples(src, "alive", "q", "") },
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"instance":"a:9104"},"value":[1795424148.1,"1"]}]}}`)
}

func FuzzDSN(f *testing.F) {
	f.Add("mysql://u:p@h:1,h2/s?x")
	f.Add("u:p@tcp(h)/s")
	f.Add("mysql:host=h;port=1")
	f.Fuzz(func(t *testing.T, text string) {
		d, _ := parseDSN(text)
		for _, a := range d.addresses {
			if a == "" || strings.HasPrefix(text, "mysql://") && strings.Contains(a, "@") {
				t.Errorf("%q: address %q", text, a)
			}
		}
	})
}

func FuzzKept(f *testing.F) {
	f.Add(keptHead + "\t1\t1\nhost\ta\tb\t\"c\\td\"\t?\tx\t1\t\n")
	f.Fuzz(func(t *testing.T, text string) { parseKept(text) })
}

// FuzzOptions reads an option file without includes: those name files of the machine.
func FuzzOptions(f *testing.F) {
	anyFile(f, claims.Spec{Path: "hosts/*/my.cnf"}, func(r *reader, src []byte) {
		if strings.Contains(string(src), "!include") {
			return
		}
		writeInput(r, src)
	}, "[mysqld]\nport=1\n[mysqld1]\nserver-id=1\n[mysqld.x]\nport=2\n", "[")
}
