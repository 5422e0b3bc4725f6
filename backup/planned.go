package backup

import (
	"context"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
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
	From     farm.HostName     `json:"from"`
	To       farm.HostName     `json:"to"`
	// Raw is the length of the copy as far as anybody knows: that of the one before, or the pair's size in farm.yaml.
	Raw int64 `json:"raw_bytes"`
}

// Plan says what Begin would copy.
func (a *Act) Plan(ctx context.Context, w Wish) ([]Planned, error) {
	all, err := kept.All(a.Store)
	if err != nil {
		return nil, err
	}
	orders, err := a.orders(ctx, w, all)
	if err != nil {
		return nil, err
	}
	out := []Planned{}
	for _, o := range orders {
		b := o.Backup
		out = append(out, Planned{b.ID, b.Pair, b.Side, b.Instance, b.Kind, b.Base, o.On, b.Host, b.Raw})
	}
	return out, nil
}
