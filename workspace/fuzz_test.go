package workspace

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"stowage/bench/decide"
	"stowage/bench/result"
	"stowage/farm"
)

const fuzzedFarm = `farm: f
next_server_id: 1
host_types: {t: {cores: 1, memory: 4GB, disk: 2TB, seats: 3, max_instances: 2, options: {innodb_buffer_pool_size: 70%, innodb_io_capacity: 20000}}}
profiles: {office: [0.1, 40%, 1]}
hosts:
  - {name: h1, type: t, address: 10.0.0.1, labels: {rack: r1}, reserved: {disk: 1GB}}
  - {name: h2, type: t, address: 10.0.0.2, labels: {rack: r2}}
pairs:
  - name: p1
    topology: active-active
    sides: {A: {host: h1, port: 1, datadir: /1}, B: {host: h2, port: 1, datadir: /1}}
    shards: [{name: s1, disk: 1GB, growth: 1MB/day, profile: office, customer: c, seats: 1}]
  - name: p2
    topology: active-active
    sides: {A: {host: h1, port: 2, datadir: /2}, B: {host: h2, port: 2, datadir: /2}}
`

// FuzzFarmFile: a farm that is read without a fault has none, and every other
// file is refused as unusable.
func FuzzFarmFile(f *testing.F) {
	f.Add([]byte(fuzzedFarm))
	f.Add([]byte(fuzzedFarm + "backup: {dir: /srv/b, host: h1, zstd: 3, full: 7d, incremental: off, keep: {last: 1, within: 2w}}\n"))
	f.Add([]byte(fuzzedFarm + "backup: {restic: 's3:x', password_file: /p, env_file: /e, full: 90m, incremental: 5m, verify: off}\n"))
	f.Add([]byte("profiles: {x: [1, 2]}\nhosts: [{reserved: {cores: 1}}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		read, _, err := parseFarm("farm.yaml", src)
		if err != nil && !errors.Is(err, farm.ErrInput) {
			t.Errorf("error %v is not of unusable input", err)
		}
		if err == nil && len(read.Check()) > 0 {
			t.Errorf("read with problems: %v", read.Check())
		}
	})
}

// FuzzGoalsFile is the same for goals.
func FuzzGoalsFile(f *testing.F) {
	read, _, err := parseFarm("farm.yaml", []byte(fuzzedFarm))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("groups: {a: [p1, b], b: [a, 'p*']}\ntogether: [a]\napart: [b]\nfrozen: ['p[12]']\n"))
	f.Add([]byte("pin: [{what: p1, hosts: {rack: [r1, r2]}}, {what: p2a, hosts: 'h*'}]\nforbid: [{what: p1b, hosts: h1}]\n"))
	f.Add([]byte("unit: shard\nrunway: 1.5 years\ngrowth: x2\noverhead: {seats: 1}\nbuy: {t: {most: 3, labels: {rack: [r1]}}}\n"))
	f.Add([]byte("surface: {customer: 25%, shards: 1%}\nrates: {stream: 1MB/s, rack: 1GB/s, rack_label: rack}\nmoved_most: 5TB\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		g, err := parseGoals("goals.yaml", src, read)
		if err != nil && !errors.Is(err, farm.ErrInput) {
			t.Errorf("error %v is not of unusable input", err)
		}
		if err == nil && len(g.Check(read)) > 0 {
			t.Errorf("read with problems: %v", g.Check(read))
		}
	})
}

// FuzzDecisionFile is the same for decisions; and one that is read can be judged, shown and printed as JSON, whatever its figures are.
func FuzzDecisionFile(f *testing.F) {
	f.Add([]byte("decision: d\nfast: {weight: 2, goals: [{figure: iops, step: s, at_least: 5, enough: 10}, {figure: p99, step: s}]}\ncandidates: {a: {data_sheet: {source: x, of: device, steps: {s: {iops: 5, p99: 2ms}}}, devices: {count: 4, level: 5}}, b: {price: 3}}\n"))
	f.Add([]byte("decision: d\ncurrency: EUR\nworkload: {writes: 2GB/day, write_amplification: 1.5}\ndoubt: {data_sheet: 20%}\nsafe: {goals: [{figure: endurance}, {figure: yearly loss}, {figure: exposure}]}\npriced: {goals: [{figure: price per GB}, {figure: watts}]}\n" +
		"candidates: {a: {price: {from: 1, to: 2}, watts: 3, devices: {count: 6, level: 6, capacity: 1TB, mtbf: 2000000h, dwpd: 1, warranty: 5 years, rebuild_rate: 1MB/s, replaced_after: 1h}}, b: {price: 1, watts: 9, capacity: 1TB, devices: {capacity: 1TB, afr: 1%, tbw: 1PB}}}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		none := func(string) (*result.Result, error) { return nil, errors.New("there are no results here") }
		d, err := parseDecision("decision.yaml", src, none)
		if err != nil {
			if !errors.Is(err, farm.ErrInput) {
				t.Errorf("error %v is not of unusable input", err)
			}
			return
		}
		if len(d.Candidates) > 6 || len(src) > 4000 {
			return // larger ones take longer and say no more
		}
		o := decide.Judge(d)
		if _, err := json.Marshal(o); err != nil {
			t.Errorf("as JSON: %v", err)
		}
		if err := o.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
