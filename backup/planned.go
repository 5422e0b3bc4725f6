package backup

import (
	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/farm"
)

// Planned is one backup as a run would take it.
type Planned struct {
	ID       string            `json:"id"`
	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"instance"`
	Kind     catalogue.Kind    `json:"kind"`
	Base     string            `json:"base,omitempty"`
	Shards   []farm.ShardName  `json:"shards,omitempty"` // of a logical one
	From     farm.HostName     `json:"from"`
	To       farm.HostName     `json:"to"`
	// Raw is the length of the copy as far as anybody knows: that of the one before, or the pair's size in farm.yaml.
	Raw int64 `json:"raw_bytes"`
}

// Planned says what the last Begin was about to copy, also where it was Dry, or refused.
func (a *Act) Planned() []Planned { return a.planned }

// Left are the pairs that are due and were left out by the last Begin, because other runs have claimed them.
func (a *Act) Left() []act.Left { return a.left }

func (o order) planned() Planned {
	b := o.Backup
	return Planned{b.ID, b.Pair, b.Side, b.Instance, b.Kind, b.Base, b.Shards, o.On, b.Host, b.Raw}
}
