package etsy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stowage/farm"
	"stowage/placement"
	"stowage/workspace"
)

const etsyFiles = "../../../examples/etsy-2016"

// draw takes so many pairs out of the example, large and small ones as they are
// mixed there, with their hosts, and asks `stowage plan` which hosts are to be
// bought; these are entered, and planned upon, as README.md of the example says.
// Names, racks, feeds and shards are the example's. Sizes of disk and memory are
// a thousandth of it, on both sides of the account, so that the plan is the same.
func (f *realEtsy) draw(pairs int) *farm.Farm {
	t := f.T
	ws, err := workspace.Open(etsyFiles)
	if err != nil {
		t.Fatal(err)
	}
	fm, err := ws.Farm()
	if err != nil {
		t.Fatal(err)
	}
	pairs = min(pairs, len(fm.Pairs))
	all := fm.Pairs
	fm.Pairs = nil
	for k := range pairs {
		fm.Pairs = append(fm.Pairs, all[k*len(all)/pairs])
	}
	f.shrink(fm)
	f.settleOldHosts(fm)
	f.writeGoals(true)
	fm.Accounts, fm.Agents = "accounts.cnf", farm.Agents{Engine: f.EngineAddress()}
	f.Did(workspace.WriteFarm(f.Dir+"/farm.yaml", fm))
	f.Did(os.WriteFile(f.Dir+"/accounts.cnf", []byte("[client]\nuser = app\npassword = none\n"), 0o600))

	f.Must("plan", "--name", "bought")
	for n, h := range f.readPlan("bought").Hosts {
		f.AddMachine(h.Name)
		fm.Hosts = append(fm.Hosts, farm.Host{Name: h.Name, Type: h.Type, Address: f.Hosts[h.Name].Address, Dir: filepath.Join(f.Dir, "hosts", string(h.Name)),
			Labels: map[string]string{"rack": fmt.Sprintf("n%02d", n%10+1), "power": string(rune('a' + n%2))}})
	}
	f.Did(workspace.WriteFarm(f.Dir+"/farm.yaml", fm))
	f.writeGoals(false)
	f.Must("plan", "--name", "first")
	p := f.readPlan("first")
	f.sum.Pairs, f.sum.HostsBefore, f.sum.HostsAfter, f.sum.Moves = len(fm.Pairs), p.HostsBefore, p.HostsUsed, len(p.Moves)
	if bought := len(f.readPlan("bought").Hosts); p.HostsUsed != bought || pairs == len(all) && p.HostsUsed != 30 {
		t.Fatalf("the plan uses %d hosts; %d were bought", p.HostsUsed, bought)
	}
	for _, p := range fm.Pairs {
		f.sum.Shards += len(p.Shards)
	}
	return fm
}

func (f *realEtsy) shrink(fm *farm.Farm) {
	const by = 1000
	for _, t := range fm.HostTypes {
		t.Capacity[farm.Disk] /= by
		t.Capacity[farm.Memory] /= by
	}
	for _, h := range fm.Hosts {
		if h.Reserved != nil {
			h.Reserved[farm.Memory] /= by
		}
	}
	for _, p := range fm.Pairs {
		for i := range p.Shards {
			p.Shards[i].Needs[farm.Disk] /= by
			p.Shards[i].Needs[farm.Memory] /= by
			p.Shards[i].Growth /= by
		}
	}
}

// settleOldHosts keeps the hosts that the pairs stand on, each a machine now.
func (f *realEtsy) settleOldHosts(fm *farm.Farm) {
	all := fm.Hosts
	fm.Hosts = nil
	used := map[farm.HostName]bool{}
	for _, h := range fm.Pairs {
		used[h.Sides[farm.A].Host], used[h.Sides[farm.B].Host] = true, true
	}
	for _, h := range all {
		if used[h.Name] {
			f.AddMachine(h.Name)
			h.Address, h.Dir = f.Hosts[h.Name].Address, filepath.Join(f.Dir, "hosts", string(h.Name))
			fm.Hosts = append(fm.Hosts, h)
		}
	}
	for _, p := range fm.Pairs {
		for name, side := range p.Sides {
			home := filepath.Join(f.Dir, "hosts", string(side.Host), string(p.Instance(name)))
			side.Datadir, side.Config = filepath.Join(home, "data"), filepath.Join(home, "my.cnf")
			p.Sides[name] = side
		}
	}
}

// writeGoals writes the example's goals, with a short soak; once the hosts
// stand, nothing is to be bought.
func (f *realEtsy) writeGoals(buy bool) {
	raw, err := os.ReadFile(filepath.Join(etsyFiles, "goals.yaml"))
	if err != nil {
		f.T.Fatal(err)
	}
	text := strings.NewReplacer("soak: 10m", "soak: 1s", "overhead: {memory: 1.5GB}", "overhead: {memory: 1.5MB}").Replace(string(raw))
	from, to := strings.Index(text, "buy:\n"), strings.Index(text, "minimise:")
	if from < 0 || to < from || !strings.Contains(text, "soak: 1s") || !strings.Contains(text, "1.5MB") {
		f.T.Fatal("goals.yaml of the example has changed its form")
	}
	if !buy {
		text = text[:from] + text[to:]
	}
	f.Did(os.WriteFile(f.Dir+"/goals.yaml", []byte(text), 0o644))
}

func (f *realEtsy) readPlan(name string) placement.Plan {
	f.T.Helper()
	ws, err := workspace.Open(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p, err := ws.Plan(name)
	if err != nil {
		f.T.Fatal(err)
	}
	return p
}
