package sides

import (
	"errors"
	"fmt"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/roll/agenda"
	"stowage/session"
	"stowage/swing"
)

// Opener opens sides of the farm for one act in a session.
type Opener struct {
	*act.Act
	Settings swing.Settings
	Editor   *host.Editor
}

// Order is what one part of a job says of a side: which, its role, and where it and its twin live.
type Order struct {
	Runbook string        `json:"runbook,omitempty"` // of kind Side
	Pair    farm.PairName `json:"pair"`
	Side    farm.SideName `json:"side"`
	Role    agenda.Role   `json:"role,omitempty"`
	Leaves  Place         `json:"leaves"`
	Twin    Place         `json:"twin"` // who serves meanwhile; of a single instance the zero place
}

// Place is one instance of farm.yaml.
type Place struct {
	Name farm.InstanceName `json:"instance"`
	At   farm.Side         `json:"at"`
}

// Subject is PAIR/SIDE.
func (o Order) Subject() string { return string(o.Pair) + "/" + string(o.Side) }

// Order reads the side from farm.yaml. Its errors wrap farm.ErrInput, or farm.ErrRefused for a pair whose sides share a host.
func (a Opener) Order(pair farm.PairName, side farm.SideName) (Order, error) {
	p, ok := a.Farm.Pair(pair)
	if !ok {
		return Order{}, &farm.Error{Op: "take out", Subject: string(pair), Err: fmt.Errorf("%w: farm.yaml has no such pair", farm.ErrInput), Hint: "stowage inventory lists the pairs"}
	}
	if _, has := p.Sides[side]; !has {
		return Order{}, &farm.Error{Op: "take out", Subject: string(pair) + "/" + string(side), Err: fmt.Errorf("%w: farm.yaml has no such side", farm.ErrInput), Hint: "stowage inventory lists the pairs and their sides"}
	}
	i, wrong := agenda.InstanceOf(*p, side)
	if wrong != "" {
		return Order{}, act.Refused("take out", string(pair), errors.New(wrong), "stowage move instance takes one of them to another host")
	}
	o := Order{Pair: pair, Side: side, Role: i.Role, Leaves: Place{p.Instance(side), p.Sides[side]}}
	twin := i.TwinSide
	if i.Role == agenda.Serves {
		twin = side.Twin()
	}
	if i.Role != agenda.Single {
		o.Twin = Place{p.Instance(twin), p.Sides[twin]}
	}
	return o, nil
}

// Instance is a place as its host knows it.
func (a Opener) Instance(p Place) (host.Host, host.Instance, error) {
	h, ok := a.Farm.Host(p.At.Host)
	if !ok {
		return nil, host.Instance{}, fmt.Errorf("%w: farm.yaml has no host %s", farm.ErrInput, p.At.Host)
	}
	machine, err := a.Host(p.At.Host)
	return machine, session.InstanceAt(a.Workspace, p.Name, h.Address, p.At), err
}
