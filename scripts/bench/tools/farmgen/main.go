// Command farmgen writes a workspace from a generated farm: farm.yaml and goals.yaml out of a CSV with a logical shard a line
// (shard, pair, disk_gb, mem_gb, cpu, iops, mbps, growth_per_year), for scripts/bench/plan.sh.
//
//	farmgen farm.csv DIR instance|shard
package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "farmgen: give a CSV, a directory, and instance or shard")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "farmgen:", err)
		os.Exit(1)
	}
}

// shard is one line of the CSV.
type shard struct {
	name                              string
	disk, mem, cpu, iops, net, yearly float64
}

func run(from, dir, unit string) error {
	pairs, order, err := read(from)
	if err != nil {
		return err
	}
	farm, err := os.Create(filepath.Join(dir, "farm.yaml"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(farm)
	fmt.Fprint(w, "farm: generated\nnext_server_id: 1000000\nhost_types:\n  old: {disk: 4TB, watts: 200, price: 4000}\n",
		"  ssd7.7: {disk: 7680GB, memory: 512GB, cores: 56, iops: 300000, network: 20Gbit, watts: 450, price: 14000, max_instances: 6}\nhosts:\n")
	for n := range order {
		for side := range 2 {
			fmt.Fprintf(w, "  - {name: old%05d, type: old, address: 10.%d.%d.%d}\n", 2*n+side+1, side, n/250, n%250)
		}
	}
	fmt.Fprintln(w, "pairs:")
	for n, id := range order {
		fmt.Fprintf(w, "  - name: db%05d\n    topology: active-active\n    sides:\n", n+1)
		for side, name := range []string{"A", "B"} {
			fmt.Fprintf(w, "      %s: {host: old%05d, port: 3306, datadir: /var/lib/mysql}\n", name, 2*n+side+1)
		}
		fmt.Fprintln(w, "    shards:")
		for _, s := range pairs[id] {
			fmt.Fprintf(w, "      - {name: shard%s, disk: %.2fGB, growth: %.4fMB/day, memory: %.2fGB, cpu: %.3f, iops: %.0f, network: %.1fMbit}\n",
				s.name, s.disk, 1000*s.disk*s.yearly/365, s.mem, s.cpu, s.iops, s.net)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := farm.Close(); err != nil {
		return err
	}
	overhead := "overhead: {disk: 5GB, memory: 1.5GB, cpu: 0.1, iops: 20, network: 5Mbit}\n"
	if unit == "shard" {
		overhead = ""
	}
	goals := "onto: [ssd7.7]\nunit: " + unit + "\nheadroom: {disk: 15%, memory: 16%, cpu: 40%, iops: 40%, network: 40%}\nrunway: 365 days\n" + overhead +
		"buy: {ssd7.7: " + strconv.Itoa(len(order)*32/60+4) + "}\nparallel: 8\n"
	return os.WriteFile(filepath.Join(dir, "goals.yaml"), []byte(goals), 0o644)
}

// read is the shards by pair, and the pairs in the order of the file.
func read(path string) (map[string][]shard, []string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(bufio.NewReader(file)).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	pairs, order := map[string][]shard{}, []string{}
	for _, row := range rows[1:] {
		v := make([]float64, len(row))
		for i := 2; i < len(row); i++ {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if pairs[row[1]] == nil {
			order = append(order, row[1])
		}
		pairs[row[1]] = append(pairs[row[1]], shard{row[0], v[2], v[3], v[4], v[5], v[6], v[7]})
	}
	return pairs, order, nil
}
