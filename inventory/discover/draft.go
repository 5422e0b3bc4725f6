package discover

import (
	"fmt"
	"io"
	"strings"

	"stowage/farm"
	"stowage/internal/table"
)

// FillIn marks what a person has to write into a draft.
const FillIn = "FILL IN"

// draftName is the farm's until somebody gives it one.
const draftName = "my-farm"

// Farm is what was found as a farm, and remarks for whoever reads the draft,
// by the places that workspace.DraftFarm has for them.
func (f Found) Farm(accounts string) (*farm.Farm, map[string][]string) {
	out := &farm.Farm{Name: draftName, NextServerID: f.NextServerID, Accounts: accounts}
	remarks := map[string][]string{
		"":     f.head(),
		"farm": {FillIn + ": the name of your farm"},
		"host_types": {FillIn + ": the hardware of these hosts, which servers do not report. A figure that is left out means: no limit.",
			"This draft has one type for each total size of InnoDB buffer pools. Give hosts with the same hardware one type, such as:",
			"  r630-ssd: {cores: 32, memory: 512GiB, disk: 14TB, iops: 70000, network: 10Gbit, watts: 267, price: 16000}"},
		"pairs": {"config of a side: the option file that its server reads last. group_suffix: which group of that file is for this server,",
			"where several servers share the file. A move needs both; inventory and plan do not."},
	}
	if f.NextServerID == 0 && len(f.Pairs) > 0 {
		remarks["farm"] = append(remarks["farm"], FillIn+": next_server_id: 1 above the highest id that is in use or will be used again")
	}
	used := map[farm.HostName]bool{}
	for _, p := range f.Pairs {
		pair := farm.Pair{Name: p.Name, Topology: p.Topology, Sides: map[farm.SideName]farm.Side{}}
		for _, s := range p.Sides {
			used[s.Host] = true
			pair.Sides[s.Side] = farm.Side{Host: s.Host, Port: s.Port, Datadir: s.Datadir, Config: f.Servers[s.server].Config, GroupSuffix: f.Servers[s.server].GroupSuffix}
			if asks := f.Servers[s.server].asksConfig(s.Side, f.sharers(s.Host, s.server)); asks != "" {
				at := "pairs." + string(p.Name)
				remarks[at] = append(remarks[at], oneLine(asks))
			}
			if s.IsShared {
				at := "pairs." + string(p.Name)
				remarks[at] = append(remarks[at], oneLine(fmt.Sprintf("%s: the datadir of side %s on host %s; another server there reports the same path", FillIn, s.Side, s.Host)))
			}
		}
		for _, s := range p.Shards {
			shard := farm.Shard{Name: s.Name, Needs: farm.Resources{}}
			if s.Bytes > 0 { // a database without tables says nothing of what its shard needs
				shard.Needs[farm.Disk] = float64(s.Bytes)
			}
			pair.Shards = append(pair.Shards, shard)
		}
		for _, x := range p.LeftOut {
			at := "pairs." + string(p.Name)
			remarks[at] = append(remarks[at], oneLine(fmt.Sprintf("not a shard: %s %s", x.Name, x.Why)))
		}
		out.Pairs = append(out.Pairs, pair)
	}
	on := map[farm.HostTypeName][]Host{}
	for _, h := range f.Hosts {
		if used[h.Name] {
			out.Hosts = append(out.Hosts, farm.Host{Name: h.Name, Type: h.Type, Address: h.Address, Dir: f.dirOf(h.Name)})
			on[h.Type] = append(on[h.Type], h)
		}
	}
	if len(out.Hosts) > 0 {
		remarks["hosts"] = []string{"Add the hosts to pack onto, each with dir: the directory for new instances. A host without dir receives none.",
			"dir of the hosts below is a guess. An undo makes instances there, so the disk must have room for them.",
			"Add labels, such as {rack: r1, power: a}, to every host if the sides of a pair must not share a rack or power feed."}
	}
	for _, name := range sorted(on) {
		most := 0
		for _, h := range on[name] {
			most = max(most, len(h.Instances))
		}
		// As many as now: these are the machines to leave, not to pack onto.
		out.HostTypes = append(out.HostTypes, farm.HostType{Name: name, Capacity: farm.Resources{}, MaxInstances: most})
		remarks["host_types."+string(name)] = []string{FillIn + ": " + about(on[name])}
	}
	remarks["end"] = f.rest()
	return out, remarks
}

// head is for whoever opens the file.
func (f Found) head() []string {
	return []string{
		"A draft of `stowage inventory discover`, made from what the servers reported. Read it, and complete each line that says " + FillIn + ".",
		"Rename pairs and hosts now if you use other names: each instance is named after its pair, and keeps that name.",
	}
}

// about is what is known of the hosts of one type.
func about(hosts []Host) string {
	var names []string
	var instances, most int
	var data int64
	for _, h := range hosts {
		names = append(names, string(h.Name))
		instances, most, data = instances+len(h.Instances), max(most, len(h.Instances)), max(data, h.Data)
	}
	text := few(names) + ": "
	if len(hosts) > 4 {
		text = fmt.Sprintf("%s, %s: ", farm.Counted(len(hosts), "host"), few(names))
	}
	text += fmt.Sprintf("more memory than the %s of buffer pools", farm.FormatQuantity(float64(hosts[0].Pools), farm.KindBytes))
	if data > 0 {
		text += fmt.Sprintf(", more disk than %s of data", farm.RoundQuantity(float64(data), farm.KindBytes))
	}
	if most > 1 {
		text += fmt.Sprintf("; up to %d instances each", most)
	}
	return text
}

// rest is what the draft lacks, as comments to write the rest from.
func (f Found) rest() []string {
	if len(f.NotUnderstood) == 0 && len(f.Notes) == 0 {
		return nil
	}
	var out []string
	if len(f.NotUnderstood) > 0 {
		out = append(out, "NOT UNDERSTOOD:")
		for _, n := range f.NotUnderstood {
			out = append(out, oneLine(fmt.Sprintf("  %s: %s", n.Subject, n.Text)), "    -> "+oneLine(n.Remedy))
		}
	}
	if len(f.strays) > 0 {
		out = append(out, "Servers that are in no pair above; add them by hand:")
		for _, n := range f.strays {
			out = append(out, oneLine("  "+f.stray(n)))
		}
	}
	if len(f.Notes) > 0 {
		out = append(out, "NOTES:")
		for _, n := range f.Notes {
			out = append(out, oneLine(fmt.Sprintf("  %s: %s", n.Subject, n.Text)), "    -> "+oneLine(n.Remedy))
		}
	}
	return out
}

func (f Found) stray(n int) string {
	s := f.Servers[n]
	names := make([]string, 0, len(s.Shards))
	for _, name := range sorted(s.Shards) {
		names = append(names, string(name))
	}
	databases := "no databases"
	if len(names) > 0 {
		databases = farm.Counted(len(names), "database") + " (" + few(names) + ")"
	}
	return fmt.Sprintf("%s: hostname %s, server_id %d, datadir %s, %s", s.Address, s.Hostname, s.ServerID, trimDir(s.Datadir), databases)
}

// oneLine keeps what a server said from ending a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
			return ' '
		}
		return r
	}, text)
}

// WriteText is the person's view: pairs, and servers that did not answer.
func (f Found) WriteText(w io.Writer) error {
	answered := 0
	for _, s := range f.Servers {
		if s.answered() {
			answered++
		}
	}
	fmt.Fprintf(w, "%s, %d answered: %s on %s\n", farm.Counted(len(f.Servers), "server"), answered, farm.Counted(len(f.Pairs), "pair"), farm.Counted(len(f.Hosts), "host"))
	if len(f.Pairs) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := table.New(w, "PAIR\tTOPOLOGY\tSIDE\tHOST\tADDRESS\tSERVER ID\tVERSION\tSHARDS\tDATA").Cut("VERSION").Names("PAIR", "HOST", "ADDRESS")
	for _, p := range f.Pairs {
		var data int64
		for _, s := range p.Shards {
			data += s.Bytes
		}
		for i, s := range p.Sides {
			name, topology, shards, bytes := string(p.Name), string(p.Topology), fmt.Sprint(len(p.Shards)), farm.RoundQuantity(float64(data), farm.KindBytes)
			if i > 0 {
				name, topology, shards, bytes = "", "", "", ""
			}
			t.Row("%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s", name, topology, s.Side, s.Host, s.Address, s.ServerID, f.Servers[s.server].Version, shards, bytes)
		}
	}
	return t.Flush()
}
