// Sourcesgen writes a workspace of 5,000 pairs and 100,000 shards with eight
// sources besides farm.yaml that agree but for a few mistakes, and prints how
// many mistakes those are.
//
//	sourcesgen DIR PAIRS SHARDS
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sourcesgen DIR PAIRS SHARDS")
		os.Exit(2)
	}
	pairs, err := strconv.Atoi(os.Args[2])
	shards, err2 := strconv.Atoi(os.Args[3])
	if err != nil || err2 != nil || pairs < 10 || shards < pairs {
		fmt.Fprintln(os.Stderr, "sourcesgen: PAIRS and SHARDS are numbers, at least 10 pairs and a shard for each")
		os.Exit(2)
	}
	if err := write(os.Args[1], pairs, shards); err != nil {
		fmt.Fprintln(os.Stderr, "sourcesgen:", err)
		os.Exit(1)
	}
}

const inventory = `sources:
  ansible: {kind: ansible, path: hosts.ini, subject: instance, name: instance, attributes: {address: address, server_id: server_id}}
  names: {kind: csv, path: hosts.csv, subject: host, name: name, attributes: {address: address, memory: memory}}
  cmdb: {kind: csv, path: instances.csv, name: name, attributes: {host: host, server_id: id, pair: pair}}
  lb: {kind: haproxy, path: haproxy.cfg}
  app: {kind: json, path: shards.json, attributes: {address: dsn}}
  php: {kind: php, path: shards.php, attributes: {address: dsn}, copy_of: app}
  jdbc: {kind: properties, path: shards.properties, each: shards.*, attributes: {address: url}}
  sizes: {kind: tsv, path: shards.tsv, subject: shard, name: shard, attributes: {pair: pair, disk: disk}}
authorities: {instance.*: [farm], shard.pair: [farm]}
`

// files are open while the farm is written.
type files map[string]*bufio.Writer

func (f files) add(name, format string, args ...any) { fmt.Fprintf(f[name], format, args...) }

func write(dir string, pairs, shards int) error {
	f := files{}
	var open []*os.File
	for _, name := range []string{"farm.yaml", "inventory.yaml", "hosts.ini", "hosts.csv", "instances.csv", "haproxy.cfg", "shards.json", "shards.php", "shards.properties", "shards.tsv"} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		open = append(open, file)
		f[name] = bufio.NewWriterSize(file, 1<<20)
	}
	f.add("inventory.yaml", "%s", inventory)
	f.add("farm.yaml", "farm: large\nnext_server_id: 100000\nhost_types: {t: {cores: 16, memory: 96GB, disk: 4TB}}\nhosts:\n")
	f.add("hosts.ini", "[db]\n")
	f.add("hosts.csv", "name,address,memory\n")
	f.add("instances.csv", "name,host,id,pair\n")
	f.add("haproxy.cfg", "backend db\n")
	f.add("shards.json", "{\n")
	f.add("shards.php", "<?php\nreturn [\n")
	f.add("shards.tsv", "shard\tpair\tdisk\n")
	for n := range 2 * pairs {
		f.add("farm.yaml", "  - {name: db%05d, type: t, address: %s}\n", n, address(n))
		f.add("hosts.csv", "db%05d,%s,96GB\n", n, address(n))
	}
	f.add("farm.yaml", "pairs:\n")
	each, mistakes := shards/pairs, 0
	for p := range pairs {
		f.add("farm.yaml", "  - name: p%05d\n    topology: active-active\n    sides:\n", p)
		for side := range 2 {
			n, name := 2*p+side, fmt.Sprintf("p%05d%c", p, 'a'+side)
			f.add("farm.yaml", "      %c: {host: db%05d, port: 3306, datadir: /srv/%s}\n", 'A'+side, n, name)
			f.add("instances.csv", "%s,db%05d,%d,p%05d\n", name, n, 1000+n, p)
			at := n
			if n%1000 == 7 { // where another one is
				at, mistakes = n+1, mistakes+1
			}
			f.add("haproxy.cfg", "  server %s %s:3306 check\n", name, address(at))
			f.add("hosts.ini", "db%05d instance=%s address=%s:3306 server_id=%d\n", n, name, address(n), 1000+n)
		}
		f.add("farm.yaml", "    shards:\n")
		for s := range each {
			name := fmt.Sprintf("shard_%06d", p*each+s)
			f.add("farm.yaml", "      - {name: %s, disk: 40GB}\n", name)
			dsn := fmt.Sprintf("mysql://app:x@%s:3306,%s:3306/%s", address(2*p), address(2*p+1), name)
			comma := ","
			if p == pairs-1 && s == each-1 {
				comma = ""
			}
			f.add("shards.json", " %q: {\"dsn\": %q}%s\n", name, dsn, comma)
			f.add("shards.php", " '%s' => ['dsn' => '%s'],\n", name, dsn)
			f.add("shards.properties", "shards.%s.url = jdbc:%s\n", name, dsn)
			in := p
			if s == 0 && p%500 == 3 {
				in, mistakes = p+1, mistakes+1
			}
			f.add("shards.tsv", "%s\tp%05d\t41GB\n", name, in)
		}
	}
	f.add("shards.json", "}\n")
	f.add("shards.php", "];\n")
	for i, name := range []string{"farm.yaml", "inventory.yaml", "hosts.ini", "hosts.csv", "instances.csv", "haproxy.cfg", "shards.json", "shards.php", "shards.properties", "shards.tsv"} {
		if err := f[name].Flush(); err != nil {
			return err
		}
		if err := open[i].Close(); err != nil {
			return err
		}
	}
	fmt.Println(mistakes)
	return nil
}

func address(n int) string { return fmt.Sprintf("10.%d.%d.%d", n/62500, n/250%250, n%250+1) }
