package inventory

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/table"
	"stowage/mysql"
)

// FormatVersion of the JSON form.
const FormatVersion = 1

// Inventory is the farm as its servers describe it.
type Inventory struct {
	FormatVersion int            `json:"format_version"`
	Farm          string         `json:"farm"`
	Taken         time.Time      `json:"taken"`
	Hosts         int            `json:"hosts"` // in use
	Pairs         int            `json:"pairs"`
	Instances     []Instance     `json:"instances"`
	Findings      []farm.Finding `json:"findings"`
}

// Instance is one side as its server describes it.
type Instance struct {
	Name     farm.InstanceName        `json:"name"`
	Pair     farm.PairName            `json:"pair"`
	Side     farm.SideName            `json:"side"`
	Host     farm.HostName            `json:"host"`
	Address  string                   `json:"address"`
	Error    string                   `json:"error,omitempty"` // why nothing below is known
	Version  string                   `json:"version,omitempty"`
	ServerID uint32                   `json:"server_id,omitempty"`
	Domain   uint32                   `json:"gtid_domain_id,omitempty"`
	KnownIDs []uint32                 `json:"server_ids_in_binlog,omitempty"`
	Source   string                   `json:"replicates_from,omitempty"`
	Behind   *float64                 `json:"seconds_behind,omitempty"`
	Pool     int64                    `json:"buffer_pool_bytes,omitempty"`
	Shards   map[farm.ShardName]int64 `json:"shard_bytes,omitempty"`

	remedy  string // of Error, where the account is at fault
	facts   mysql.Facts
	options map[string]string // variables that the host's type has a say in
}

// Bytes is the data on the instance.
func (i Instance) Bytes() int64 {
	var sum int64
	for _, n := range i.Shards {
		sum += n
	}
	return sum
}

// Survey asks every instance of the farm, several at a time. open makes a
// Server; progress is told how many have answered.
func Survey(ctx context.Context, f *farm.Farm, open func(farm.InstanceName, string) *mysql.Server, progress func(done, total int)) (Inventory, error) {
	inv := Inventory{FormatVersion: FormatVersion, Farm: f.Name, Taken: time.Now(), Hosts: len(f.HostsInUse()), Pairs: len(f.Pairs)}
	for _, p := range f.Pairs {
		for _, side := range p.SideNames() {
			s := p.Sides[side]
			inv.Instances = append(inv.Instances, Instance{Name: p.Instance(side), Pair: p.Name, Side: side, Host: s.Host, Address: f.Address(s)})
		}
	}
	const atOnce = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	tokens, done := make(chan struct{}, atOnce), 0
	for i := range inv.Instances {
		wg.Add(1)
		tokens <- struct{}{}
		go func(i *Instance) {
			defer wg.Done()
			i.ask(ctx, open, slices.Sorted(maps.Keys(f.OptionsOn(i.Host, 1))))
			<-tokens
			mu.Lock()
			defer mu.Unlock()
			done++
			if progress != nil {
				progress(done, len(inv.Instances))
			}
		}(&inv.Instances[i])
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return inv, &farm.Error{Op: "survey farm", Subject: f.Name, Err: err}
	}
	inv.Findings = reconcile(f, inv.Instances)
	return inv, nil
}

func (i *Instance) ask(ctx context.Context, open func(farm.InstanceName, string) *mysql.Server, options []string) {
	server := open(i.Name, i.Address)
	defer server.Close()
	if err := server.Answers(ctx); err != nil {
		i.Error, i.remedy = err.Error(), mysql.AccountRemedy(err)
		return
	}
	facts, err := server.Facts(ctx)
	if err == nil && len(options) > 0 {
		i.options, err = server.Variables(ctx, options...)
	}
	if err != nil {
		i.Error, i.remedy = err.Error(), mysql.AccountRemedy(err)
		return
	}
	i.facts = facts
	i.Version, i.ServerID, i.Domain, i.KnownIDs = facts.Flavor.String(), facts.ServerID, facts.Domain, facts.KnownIDs
	i.Shards = facts.Shards
	if r := facts.Replication; r.Configured {
		i.Source = fmt.Sprintf("%s:%d", r.Host, r.Port)
		if r.BehindOK {
			seconds := r.Behind.Seconds()
			i.Behind = &seconds
		}
	}
	_, _ = fmt.Sscan(facts.Variables["innodb_buffer_pool_size"], &i.Pool) // 0 when it cannot be read
}

// HighestServerID is the highest server id any instance has or remembers.
func (inv Inventory) HighestServerID() uint32 {
	var high uint32
	for _, i := range inv.Instances {
		high = max(high, i.ServerID)
		for _, id := range i.KnownIDs {
			high = max(high, id)
		}
	}
	return high
}

// ShardBytes is the measured size of every shard: the larger of its two sides.
func (inv Inventory) ShardBytes() map[farm.ShardName]int64 {
	out := map[farm.ShardName]int64{}
	for _, i := range inv.Instances {
		for name, n := range i.Shards {
			out[name] = max(out[name], n)
		}
	}
	return out
}

// WriteText is the person's view: one line an instance, then what to look at.
func (inv Inventory) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "farm %s: %s, %s on %s\n\n", inv.Farm, farm.Counted(inv.Pairs, "pair"), farm.Counted(len(inv.Instances), "instance"), farm.Counted(inv.Hosts, "host"))
	t := table.New(w, "INSTANCE\tHOST\tADDRESS\tVERSION\tSERVER ID\tDOMAIN\tSHARDS\tDATA\tFROM\tLAG").Cut("VERSION").Names("INSTANCE", "HOST", "ADDRESS", "FROM")
	for _, i := range inv.Instances {
		if i.Error != "" {
			why := "unreachable"
			if i.remedy != "" {
				why = "access denied"
			}
			t.Row("%s\t%s\t%s\t%s\t\t\t\t\t\t", i.Name, i.Host, i.Address, why)
			continue
		}
		lag := "?"
		switch {
		case i.Behind != nil:
			lag = fmt.Sprintf("%.0fs", *i.Behind)
		case i.Source == "":
			lag = "-" // it replicates from no server
		}
		t.Row("%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s", i.Name, i.Host, i.Address, i.Version, i.ServerID, i.Domain,
			len(i.Shards), farm.RoundQuantity(float64(i.Bytes()), farm.Disk.Kind()), i.Source, lag)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return WriteFindings(w, inv.Findings)
}

// WriteFindings is the person's view of findings, most severe first.
func WriteFindings(w io.Writer, findings []farm.Finding) error {
	if len(findings) == 0 {
		_, err := fmt.Fprintln(w, "\nno findings")
		return err
	}
	rank := map[farm.Severity]int{farm.Blocker: 0, farm.Warning: 1, farm.Note: 2}
	sorted := append([]farm.Finding(nil), findings...)
	sort.SliceStable(sorted, func(i, j int) bool { return rank[sorted[i].Severity] < rank[sorted[j].Severity] })
	fmt.Fprintf(w, "\n%s\n", farm.Counted(len(sorted), "finding"))
	return WriteEach(w, sorted)
}

// WriteEach writes findings in their order: what, about whom, and the remedy. What is found of many is written once, with their number.
func WriteEach(w io.Writer, findings []farm.Finding) error {
	for _, f := range farm.Alike(findings) {
		if _, err := fmt.Fprintf(w, "  %-7s  %s: %s\n           -> %s  (%s)\n", f.Severity, f.Subject, f.Text, f.Remedy, f.Check); err != nil {
			return err
		}
	}
	return nil
}
