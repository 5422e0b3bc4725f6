package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/inventory/claims"
	"stowage/workspace"
)

// taken is what `stowage inventory accept --sources` prints.
type taken struct {
	Written []change `json:"written"`
	Left    []change `json:"left"` // that farm.yaml may be wrong about, and that was not written
}

// change is one value of farm.yaml.
type change struct {
	Kind      claims.Kind `json:"kind"`
	Subject   string      `json:"subject"`
	Attribute string      `json:"attribute"`
	Value     string      `json:"value,omitempty"`
	Why       string      `json:"why"`
}

// acceptSources writes what sources have decided against farm.yaml. Only what
// is sure is written; the rest is for a person.
func (a *app) acceptSources(ctx context.Context) (taken, error) {
	out := taken{Written: []change{}, Left: []change{}}
	known, err := a.checkAndKeep(ctx)
	if err != nil {
		return out, err
	}
	report := known.Report
	d, err := a.open()
	if err != nil {
		return out, err
	}
	defer d.Close()
	for _, c := range report.Conflicts {
		if !slices.Contains(c.Culprits, "farm") {
			continue
		}
		it := change{Kind: c.Kind, Subject: c.Subject, Attribute: c.Attribute, Value: asWritten(c), Why: c.Reason}
		if !c.IsSure || c.Value == "" || c.Check != "conflict" {
			it.Why = "not sure enough to be written: " + string(c.Verdict) + "; " + c.Reason
			out.Left = append(out.Left, it)
			continue
		}
		why := ""
		err := d.EditFarm(func(e *workspace.Edit) error { // as the change before has left it
			var set func(*workspace.Edit)
			if set, why = setter(e.Farm(), it); set != nil {
				set(e)
			}
			return nil
		})
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			it.Why = why
			out.Left = append(out.Left, it)
			continue
		}
		out.Written = append(out.Written, it)
	}
	return out, nil
}

// asWritten is the value that holds in the spelling of who says it: values are
// compared in lower case.
func asWritten(c claims.Conflict) string {
	if v, err := strconv.ParseFloat(c.Value, 64); err == nil && c.Attribute == "disk" {
		return farm.FormatQuantity(v, farm.KindBytes)
	}
	for _, s := range c.Claims {
		if strings.EqualFold(s.Value, c.Value) {
			return s.Value
		}
	}
	return c.Value
}

func hostNamed(f *farm.Farm, name string) (farm.Host, bool) {
	at := slices.IndexFunc(f.Hosts, func(h farm.Host) bool { return strings.EqualFold(string(h.Name), name) })
	if at < 0 {
		return farm.Host{}, false
	}
	return f.Hosts[at], true
}

// setter is the edit for one decided value; nil, and why, where farm.yaml has
// no place for it.
func setter(f *farm.Farm, c change) (set func(*workspace.Edit), why string) {
	switch c.Kind {
	case claims.Host:
		return setHost(f, c)
	case claims.Instance:
		return setSide(f, c)
	case claims.Pair:
		if _, ok := f.Pair(farm.PairName(c.Subject)); ok && c.Attribute == "topology" {
			return func(e *workspace.Edit) { e.SetTopology(farm.PairName(c.Subject), farm.Topology(c.Value)) }, ""
		}
	case claims.Shard:
		return setShard(f, c)
	}
	return nil, "farm.yaml has no place for " + c.Attribute
}

func setHost(f *farm.Farm, c change) (func(*workspace.Edit), string) {
	h, ok := hostNamed(f, c.Subject)
	if !ok {
		return nil, "farm.yaml has no host " + c.Subject
	}
	label, isLabel := strings.CutPrefix(c.Attribute, "label_")
	switch {
	case c.Attribute == "address":
		h.Address = c.Value
	case c.Attribute == "type":
		h.Type = farm.HostTypeName(c.Value)
	case isLabel:
		labels := map[string]string{}
		maps.Copy(labels, h.Labels)
		labels[label] = c.Value
		h.Labels = labels
	default:
		return nil, c.Attribute + " is that of its host type: " + string(h.Type)
	}
	return func(e *workspace.Edit) { e.SetHost(h) }, ""
}

func setSide(f *farm.Farm, c change) (func(*workspace.Edit), string) {
	for _, p := range f.Pairs {
		for _, name := range p.SideNames() {
			if !strings.EqualFold(string(p.Instance(name)), c.Subject) {
				continue
			}
			s := p.Sides[name]
			switch c.Attribute {
			case "host":
				h, known := hostNamed(f, c.Value)
				if !known {
					return nil, "farm.yaml has no host " + c.Value + ": add it first"
				}
				s.Host = h.Name
			case "port":
				port, err := strconv.Atoi(c.Value)
				if err != nil {
					return nil, c.Value + " is not a port"
				}
				s.Port = port
			case "datadir":
				s.Datadir = c.Value
			default:
				return nil, "farm.yaml has no place for " + c.Attribute
			}
			return func(e *workspace.Edit) { e.SetSide(p.Name, name, s) }, ""
		}
	}
	return nil, "farm.yaml has no instance " + c.Subject
}

func setShard(f *farm.Farm, c change) (func(*workspace.Edit), string) {
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			if !strings.EqualFold(string(s.Name), c.Subject) {
				continue
			}
			switch c.Attribute {
			case "pair":
				return func(e *workspace.Edit) { e.MoveShard(s.Name, farm.PairName(c.Value)) }, ""
			case "disk":
				bytes, err := farm.ParseQuantity("disk", c.Value, farm.KindBytes)
				if err != nil || bytes <= 0 {
					return nil, c.Value + " is not a size"
				}
				needs := maps.Clone(s.Needs)
				needs[farm.Disk] = bytes
				return func(e *workspace.Edit) { e.SetShardNeeds(s.Name, needs) }, ""
			}
			return nil, "farm.yaml has no place for " + c.Attribute
		}
	}
	return nil, "farm.yaml has no shard " + c.Subject
}

func (t taken) writeText(w io.Writer) error {
	for _, c := range t.Written {
		fmt.Fprintf(w, "farm.yaml: %s of %s %s is %s now: %s\n", c.Attribute, c.Kind, c.Subject, c.Value, c.Why)
	}
	for _, c := range t.Left {
		fmt.Fprintf(w, "left: %s of %s %s: %s\n", c.Attribute, c.Kind, c.Subject, c.Why)
	}
	_, err := fmt.Fprintf(w, "%d written, %d left to you\n", len(t.Written), len(t.Left))
	return err
}
