package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// Chain is a full backup and the incremental ones on top of it.
type Chain struct {
	// ID is that of its full backup, or the backup that others are based on and that is missing.
	ID       string            `json:"id"`
	Farm     string            `json:"farm"`
	Pair     farm.PairName     `json:"pair"`
	Instance farm.InstanceName `json:"instance"`
	Backups  []Backup          `json:"backups"` // each after its base, otherwise by time
	// Broken are the backups from which nothing can be restored.
	Broken []Broken `json:"broken,omitempty"`
}

// Broken is a backup from which nothing can be restored, and why.
type Broken struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Chains puts backups together: each in exactly one chain. The chains are in the order of the times at which their newest backups stand, the oldest first.
// Backups that were removed are left out.
func Chains(all []Backup) []Chain {
	here := map[string]Backup{}
	for _, b := range all {
		if b.RemovedAt == nil {
			here[b.ID] = b
		}
	}
	byRoot := map[string][]Backup{}
	for _, b := range here {
		root := rootOf(b, here)
		byRoot[root] = append(byRoot[root], b)
	}
	out := make([]Chain, 0, len(byRoot))
	for root, list := range byRoot {
		out = append(out, newChain(root, list))
	}
	slices.SortFunc(out, func(a, b Chain) int {
		return cmp.Or(a.Newest().At.Compare(b.Newest().At), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// rootOf is the backup at which the bases of b end, whether it is here or not.
func rootOf(b Backup, here map[string]Backup) string {
	seen := map[string]bool{}
	for b.Base != "" && !seen[b.ID] {
		seen[b.ID] = true
		next, ok := here[b.Base]
		if !ok {
			return b.Base
		}
		b = next
	}
	if seen[b.ID] { // bases that go round: only a spoilt record says so
		return ringOf(b, here)
	}
	return b.ID
}

// ringOf is one name for all backups whose bases go round in the same ring.
func ringOf(b Backup, here map[string]Backup) string {
	least := b.ID
	for next := here[b.Base]; next.ID != b.ID; next = here[next.Base] {
		least = min(least, next.ID)
	}
	return least
}

func newChain(root string, list []Backup) Chain {
	slices.SortFunc(list, func(a, b Backup) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	c := Chain{ID: root, Farm: list[0].Farm, Pair: list[0].Pair, Instance: list[0].Instance}
	placed := map[string]*Backup{}
	for len(list) > 0 {
		i := slices.IndexFunc(list, func(b Backup) bool { return b.Base == "" || placed[b.Base] != nil })
		if i < 0 {
			i = 0 // its base is missing
		}
		b := list[i]
		list = slices.Delete(list, i, i+1)
		if why := c.fault(b, placed[b.Base]); why != "" {
			c.Broken = append(c.Broken, Broken{b.ID, why})
		}
		c.Backups = append(c.Backups, b)
		placed[b.ID] = &b
	}
	return c
}

// fault says why nothing can be restored from b; empty: it can.
func (c Chain) fault(b Backup, base *Backup) string {
	switch {
	case b.Damaged != "":
		return "it is damaged: " + b.Damaged
	case b.Base == "":
		return ""
	case base == nil:
		return fmt.Sprintf("its base %s is missing", b.Base)
	case slices.ContainsFunc(c.Broken, func(x Broken) bool { return x.ID == base.ID }):
		return fmt.Sprintf("its base %s cannot be restored", b.Base)
	case !sameData(*base, b):
		return fmt.Sprintf("its base %s is of %s in %s on %s, but the backup is of %s in %s on %s", b.Base, base.Instance, base.Datadir, base.On, b.Instance, b.Datadir, b.On)
	case b.FromLSN > base.ToLSN:
		return fmt.Sprintf("it lacks the pages from LSN %d to %d, and so does its base %s", base.ToLSN, b.FromLSN, b.Base)
	}
	return ""
}

// sameData: LSNs of two backups are comparable only when they are of one data directory.
func sameData(a, b Backup) bool {
	return a.Farm == b.Farm && a.Instance == b.Instance && a.On == b.On && a.Datadir == b.Datadir && a.ServerID == b.ServerID
}

// IsWhole says whether every backup of the chain can be restored.
func (c Chain) IsWhole() bool { return len(c.Broken) == 0 }

// IsBroken says why nothing can be restored from one of its backups; empty: it can.
func (c Chain) IsBroken(id string) string {
	for _, b := range c.Broken {
		if b.ID == id {
			return b.Why
		}
	}
	return ""
}

// Newest is its newest backup, by the time at which the data stands.
func (c Chain) Newest() Backup {
	return slices.MaxFunc(c.Backups, func(a, b Backup) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
}

// Restorable are the backups from which something can be restored, each after its base.
func (c Chain) Restorable() []Backup {
	var out []Backup
	for _, b := range c.Backups {
		if c.IsBroken(b.ID) == "" {
			out = append(out, b)
		}
	}
	return out
}

// Path is what is unpacked to restore one of its backups: the full one first, itself last. It is an error that names the backup and the reason
// when it cannot be restored.
func (c Chain) Path(id string) ([]Backup, error) {
	var out []Backup
	for want := id; want != ""; {
		i := slices.IndexFunc(c.Backups, func(b Backup) bool { return b.ID == want })
		if i < 0 {
			return nil, fmt.Errorf("%w: there is no backup %s", farm.ErrInput, want)
		}
		if why := c.IsBroken(want); why != "" {
			return nil, fmt.Errorf("%w: backup %s cannot be restored: %s", farm.ErrRefused, want, why)
		}
		out = append(out, c.Backups[i])
		want = c.Backups[i].Base
	}
	slices.Reverse(out)
	return out, nil
}

// line is what chains of a pair have in common that are kept by the rules together: none takes the place of another that has other data. Physical ones are "".
func (c Chain) line() string {
	var out strings.Builder
	if b := c.Backups[0]; !b.IsPhysical() {
		out.WriteString(string(b.Kind))
		for _, s := range b.Shards {
			out.WriteString(" " + string(s))
		}
	}
	return out.String()
}

// Bytes is what the chain takes up.
func (c Chain) Bytes() int64 {
	sum := int64(0)
	for _, b := range c.Backups {
		sum += b.Bytes
	}
	return sum
}

// Proven is the newest moment of its data that was proven; zero: none was. A backup that is broken now proves nothing.
func (c Chain) Proven() time.Time {
	var out time.Time
	for _, b := range c.Restorable() {
		if b.ProvenAt != nil && b.At.After(out) {
			out = b.At
		}
	}
	return out
}
