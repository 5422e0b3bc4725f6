package schema

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"stowage/farm"
)

// Seen is what one server has for one shard.
type Seen struct {
	Shard    farm.ShardName
	Instance farm.InstanceName
	Absent   bool              // the server has no such database
	Lower    bool              // the server keeps names of tables in lower case (lower_case_table_names=1)
	Tables   map[string]string // SHOW CREATE TABLE by name
}

// Set is what some shards should have: one directory of declared tables, or what most shards have.
type Set struct {
	Name     string           // of its directory; "" for the one at the top
	Patterns []string         // of shards, with * and ?; none: those that no other set names
	Ignore   *regexp.Regexp   // tables that are nobody's business; may be nil
	Tables   map[string]Table // by name
}

// Holds reports whether a pattern of the set names a shard.
func (s Set) Holds(shard farm.ShardName) bool {
	return slices.ContainsFunc(s.Patterns, func(p string) bool {
		ok, err := path.Match(p, string(shard))
		return err == nil && ok
	})
}

// Report says of every shard whether it has what it should have.
type Report struct {
	FormatVersion int       `json:"format_version"`
	Farm          string    `json:"farm"`
	Declared      bool      `json:"declared"` // false: what most shards have is what all should have
	Shards        int       `json:"shards"`
	Servers       int       `json:"servers"`
	Right         int       `json:"right"` // shards that are as they should be wherever they were seen
	Variants      []Variant `json:"variants"`
	Silent        []Silent  `json:"silent"` // servers that were not asked everything
	Unclaimed     []string  `json:"unclaimed"`
}

// Variant is one way in which a table is not what it should be, with all who have it so.
type Variant struct {
	Set         string           `json:"set,omitempty"`
	Table       string           `json:"table"`
	Differences []Difference     `json:"differences"`
	Alter       string           `json:"alter"`   // "" where it is to be written by hand
	Shards      []farm.ShardName `json:"shards"`  // that have it so on all their servers
	OneSide     []Where          `json:"on_some"` // that have it so on some of their servers only
	at          map[farm.ShardName][]farm.InstanceName
}

// Where is a shard on one server.
type Where struct {
	Shard    farm.ShardName    `json:"shard"`
	Instance farm.InstanceName `json:"instance"`
}

// Silent is a server that did not answer.
type Silent struct {
	Instance farm.InstanceName `json:"instance"`
	Error    string            `json:"error"`
}

// Judge compares what servers have with what is declared. Without sets, what most shards have is what all should have. Definitions that are equal are read and compared once.
func Judge(name string, seen []Seen, sets []Set) Report {
	r := Report{FormatVersion: 1, Farm: name, Declared: sets != nil, Variants: []Variant{}, Silent: []Silent{}, Unclaimed: []string{}}
	if sets == nil {
		sets = []Set{Majority(seen)}
	}
	j := judge{read: map[string]Table{}, variants: map[string]*Variant{}, servers: map[farm.ShardName]int{}}
	wrong, unclaimed, servers := map[farm.ShardName]bool{}, map[string]bool{}, map[farm.InstanceName]bool{}
	for _, s := range seen {
		j.servers[s.Shard]++
		servers[s.Instance] = true
		n := setIndex(s.Shard, sets)
		if n < 0 {
			unclaimed[string(s.Shard)] = true
			continue
		}
		if j.hold(s, sets[n]) {
			wrong[s.Shard] = true
		}
	}
	r.Shards, r.Servers = len(j.servers), len(servers)
	r.Right = r.Shards - len(wrong) - len(unclaimed)
	r.Unclaimed = append(r.Unclaimed, slices.Sorted(maps.Keys(unclaimed))...)
	for _, v := range j.variants {
		v.settle(j.servers)
		r.Variants = append(r.Variants, *v)
	}
	slices.SortFunc(r.Variants, func(a, b Variant) int {
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Table, b.Table), cmp.Compare(len(b.at), len(a.at)), cmp.Compare(a.Differences[0].String(), b.Differences[0].String()))
	})
	return r
}

// setIndex is the set that speaks of a shard, one that names it before the one that takes in the rest; -1 for none.
func setIndex(shard farm.ShardName, sets []Set) int {
	rest := -1
	for n, s := range sets {
		if len(s.Patterns) == 0 {
			rest = n
		} else if s.Holds(shard) {
			return n
		}
	}
	return rest
}

type judge struct {
	read     map[string]Table // by text
	variants map[string]*Variant
	servers  map[farm.ShardName]int // how many have it
}

// table reads a definition, once for all who have the same.
func (j *judge) table(text string) Table {
	t, ok := j.read[text]
	if !ok {
		var err error
		if t, err = Read(text); err != nil {
			t = Table{Options: text, Text: text}
		}
		j.read[text] = t
	}
	return t
}

// hold notes in what a shard on one server is not what it should be.
func (j *judge) hold(s Seen, set Set) (wrong bool) {
	note := func(table string, alter string, d ...Difference) {
		wrong = true
		j.note(s, set, table, alter, d)
	}
	if s.Absent {
		note("", "", Difference{Kind: OfTable, Name: "the database", Should: string(s.Shard)})
		return wrong
	}
	declared := set.Tables
	if s.Lower {
		declared = lower(declared)
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		should := declared[name]
		text, has := s.Tables[name]
		if !has {
			note(name, should.Text, Difference{Kind: OfTable, Name: name, Should: should.Text})
			continue
		}
		is := j.table(text)
		if is.Text == should.Text {
			continue
		}
		if d := Diff(is, should); len(d) > 0 {
			alter, _ := Alter(is, should)
			note(name, alter, d...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tables)) {
		if _, known := declared[name]; known || set.Ignore != nil && set.Ignore.MatchString(name) {
			continue
		}
		note(name, "", Difference{Kind: OfTable, Name: name, Is: j.table(s.Tables[name]).Text})
	}
	return wrong
}

func (j *judge) note(s Seen, set Set, table, alter string, d []Difference) {
	var key strings.Builder
	key.WriteString(set.Name + "\x00" + table)
	for _, x := range d {
		key.WriteString("\x00" + string(x.Kind) + "\x00" + x.Name + "\x00" + x.Is + "\x00" + x.Should)
	}
	v := j.variants[key.String()]
	if v == nil {
		v = &Variant{Set: set.Name, Table: table, Differences: d, Alter: alter, Shards: []farm.ShardName{}, OneSide: []Where{}, at: map[farm.ShardName][]farm.InstanceName{}}
		j.variants[key.String()] = v
	}
	v.at[s.Shard] = append(v.at[s.Shard], s.Instance)
}

// settle sorts who has it: shards that have it everywhere, and those that differ between their own servers.
func (v *Variant) settle(servers map[farm.ShardName]int) {
	for _, shard := range slices.Sorted(maps.Keys(v.at)) {
		if at := v.at[shard]; len(at) == servers[shard] {
			v.Shards = append(v.Shards, shard)
		} else {
			slices.Sort(at)
			for _, i := range at {
				v.OneSide = append(v.OneSide, Where{shard, i})
			}
		}
	}
}

// Majority is what most shards have: every table that at least half of them have, as most of those have it.
func Majority(seen []Seen) Set {
	count := map[string]map[string]int{}
	have := map[string]map[farm.ShardName]bool{}
	shards := map[farm.ShardName]bool{}
	for _, s := range seen {
		if s.Absent {
			continue
		}
		shards[s.Shard] = true
		for name, text := range s.Tables {
			if count[name] == nil {
				count[name], have[name] = map[string]int{}, map[farm.ShardName]bool{}
			}
			count[name][text]++
			have[name][s.Shard] = true
		}
	}
	set := Set{Tables: map[string]Table{}}
	for name, texts := range count {
		if 2*len(have[name]) < len(shards) {
			continue
		}
		// Texts that differ in a counter alone are one definition.
		votes, tables := map[string]int{}, map[string]Table{}
		for text, n := range texts {
			if t, err := Read(text); err == nil {
				votes[t.Text] += n
				tables[t.Text] = t
			}
		}
		best := ""
		for _, text := range slices.Sorted(maps.Keys(votes)) {
			if best == "" || votes[text] > votes[best] {
				best = text
			}
		}
		if best != "" {
			set.Tables[name] = tables[best]
		}
	}
	return set
}

// Of are those of which the nth set speaks.
func Of(seen []Seen, sets []Set, n int) []Seen {
	var out []Seen
	for _, s := range seen {
		if at := setIndex(s.Shard, sets); at == n {
			out = append(out, s)
		}
	}
	return out
}
