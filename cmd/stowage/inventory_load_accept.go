package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"

	"stowage/farm"
	"stowage/inventory/shardload"
	"stowage/store"
	"stowage/workspace"
)

// acceptedLoad is what `stowage inventory accept --load` prints.
type acceptedLoad struct {
	Taken   string       `json:"taken"` // when it was measured
	Shards  int          `json:"shards"`
	Figures int          `json:"figures"`
	Left    []leftFigure `json:"left"` // that were not written
}

type leftFigure struct {
	Shard    farm.ShardName    `json:"shard"`
	Resource farm.ResourceName `json:"resource"`
	Why      string            `json:"why"`
}

// acceptLoad writes what the newest measurement of load has found into farm.yaml, and into measured.json that it was
// measured. What was not measured, or only poorly, stays as it was typed.
func (a *app) acceptLoad() (acceptedLoad, error) {
	out := acceptedLoad{Left: []leftFigure{}}
	d, err := a.open()
	if err != nil {
		return out, err
	}
	defer d.Close()
	r, err := newestLoad(d)
	if errors.Is(err, store.ErrNone) {
		return out, &farm.Error{Op: "accept load", Err: fmt.Errorf("%w: none was measured in this workspace", farm.ErrInput), Hint: "measure it when the farm is busy: stowage inventory load --for 10m"}
	}
	if err != nil {
		return out, err
	}
	measured, err := d.Measured()
	if err != nil {
		return out, err
	}
	out.Taken = r.Began.UTC().Format("2006-01-02 15:04:05 UTC")
	err = d.EditFarm(func(e *workspace.Edit) error {
		out.Shards, out.Figures, out.Left = 0, 0, []leftFigure{}
		known := map[farm.ShardName]farm.Shard{}
		for _, p := range e.Farm().Pairs {
			for _, s := range p.Shards {
				known[s.Name] = s
			}
		}
		for _, s := range r.Shards {
			was, ok := known[s.Shard]
			if !ok {
				continue // the farm has changed since
			}
			figures := out.take(s)
			if len(figures) == 0 {
				continue
			}
			needs := maps.Clone(was.Needs)
			if needs == nil {
				needs = farm.Resources{}
			}
			for resource, v := range figures {
				if resource == workspace.Growth {
					e.SetShardGrowth(s.Shard, v)
				} else {
					needs[resource] = v
				}
			}
			e.SetShardNeeds(s.Shard, needs)
			old := measured.Shards[s.Shard].Figures
			all := farm.Resources{}
			all.Add(old)
			maps.Copy(all, figures)
			measured.Shards[s.Shard] = workspace.MeasuredShard{At: r.Began.UTC(), Seconds: math.Round(r.Seconds), Figures: all}
			out.Shards++
			out.Figures += len(figures)
		}
		return nil
	})
	if err != nil || out.Figures == 0 {
		return out, err
	}
	return out, d.SaveMeasured(measured)
}

// take gives the figures of a shard that are worth being planned with, and notes the others.
func (o *acceptedLoad) take(s shardload.Shard) farm.Resources {
	out := farm.Resources{}
	for _, x := range []struct {
		resource farm.ResourceName
		figure   shardload.Figure
		round    func(float64) float64
	}{
		{farm.CPU, s.CPU, digits(3)}, {farm.IOPS, s.IOPS, digits(3)}, {farm.Memory, s.Memory, upTo(1 << 20)}, {workspace.Growth, s.Growth, digits(3)},
	} {
		why := ""
		switch f := x.figure; {
		case !f.Measured():
			why = "not measured: " + f.Missing
		case f.Sure == shardload.Poor:
			why = fmt.Sprintf("only poorly measured: between %.3g and %.3g", *f.Low, *f.High)
		case *f.Value < 0:
			why = "it shrinks, and a plan does not count on data going away"
		case *f.Value == 0 && x.resource == farm.Memory:
			why = "nothing of it was in memory"
		default:
			out[x.resource] = x.round(*f.Value)
			continue
		}
		o.Left = append(o.Left, leftFigure{s.Shard, x.resource, why})
	}
	return out
}

// digits rounds to so many that count.
func digits(n int) func(float64) float64 {
	return func(v float64) float64 {
		if v == 0 {
			return 0
		}
		step := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-float64(n-1))
		if step >= 1 {
			return math.Round(v/step) * step
		}
		return math.Round(v/step) / math.Round(1/step)
	}
}

// upTo rounds up to whole units.
func upTo(unit float64) func(float64) float64 {
	return func(v float64) float64 { return math.Ceil(v/unit) * unit }
}

func (o acceptedLoad) writeText(w io.Writer) error {
	type reason struct {
		resource farm.ResourceName
		why      string
	}
	var order []reason
	shards := map[reason][]farm.ShardName{}
	for _, l := range o.Left {
		r := reason{l.Resource, l.Why}
		if shards[r] == nil {
			order = append(order, r)
		}
		shards[r] = append(shards[r], l.Shard)
	}
	for _, r := range order {
		first, more := shards[r][0], ""
		if n := len(shards[r]) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(w, "left as typed: %s of %s%s: %s\n", r.resource, first, more, r.why)
	}
	_, err := fmt.Fprintf(w, "farm.yaml: %s of %s as measured on %s; measured.json says which\n", farm.Counted(o.Figures, "figure"), farm.Counted(o.Shards, "shard"), o.Taken)
	return err
}
