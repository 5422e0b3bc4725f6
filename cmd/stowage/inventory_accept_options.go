package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/store"
	"stowage/tune"
	"stowage/workspace"
)

// acceptedOptions is what `stowage inventory accept --options` prints.
type acceptedOptions struct {
	Taken   string           `json:"taken"` // when tune --all looked
	Written []acceptedOption `json:"written"`
	Left    []acceptedOption `json:"left"`
}

// acceptedOption is one option of a host type that findings of tune ask for.
type acceptedOption struct {
	Type    farm.HostTypeName   `json:"type"`
	Option  string              `json:"option"`
	Value   string              `json:"value"`
	Rules   []string            `json:"rules"`
	Servers []farm.InstanceName `json:"servers"` // of which the findings are
	Why     string              `json:"why,omitempty"`
}

// acceptOptions turns the findings of the newest `tune --all` that a server's option would remedy into options of host types.
func (a *app) acceptOptions() (acceptedOptions, error) {
	out := acceptedOptions{Written: []acceptedOption{}, Left: []acceptedOption{}}
	d, err := a.open()
	if err != nil {
		return out, err
	}
	defer d.Close()
	var looked tuneAll
	at, err := d.Store.LatestDocument(tuneKind, d.Farm.Name, &looked)
	if errors.Is(err, store.ErrNone) {
		return out, &farm.Error{Op: "accept options", Err: fmt.Errorf("%w: no farm was looked at in this workspace", farm.ErrInput), Hint: "look at it: stowage tune --all"}
	}
	if err != nil {
		return out, err
	}
	out.Taken = at.Made.UTC().Format("2006-01-02 15:04:05 UTC")
	wanted := wantedOptions(d.Farm, looked)
	for n := range wanted {
		w := &wanted[n]
		for _, other := range wanted {
			if other.Type == w.Type && other.Option == w.Option && other.Value != w.Value {
				w.Why = fmt.Sprintf("servers on hosts of this type ask for %s and for %s", w.Value, other.Value)
			}
		}
		if w.Why == "" {
			w.Why = farm.OptionRefused(w.Option)
		}
		if w.Why != "" {
			out.Left = append(out.Left, *w)
		} else {
			out.Written = append(out.Written, *w)
		}
	}
	if len(out.Written) == 0 {
		return out, nil
	}
	return out, d.EditFarm(func(e *workspace.Edit) error {
		for _, w := range out.Written {
			e.SetHostTypeOption(w.Type, w.Option, w.Value)
		}
		return nil
	})
}

// wantedOptions are the options that findings ask for, by host type, option and value.
func wantedOptions(f *farm.Farm, looked tuneAll) []acceptedOption {
	on := map[farm.InstanceName]farm.HostTypeName{}
	for _, p := range f.Pairs {
		for side, at := range p.Sides {
			if h, ok := f.Host(at.Host); ok {
				on[p.Instance(side)] = h.Type
			}
		}
	}
	var out []acceptedOption
	for _, m := range looked.Machines {
		for _, found := range m.Report.Findings {
			c := found.Option
			if c == nil && found.Change != nil && found.Change.Variable != "" {
				c = found.Change
			}
			if c == nil || on[farm.InstanceName(c.Instance)] == "" {
				continue
			}
			out = withOption(out, on[farm.InstanceName(c.Instance)], found, *c)
		}
	}
	slices.SortFunc(out, func(a, b acceptedOption) int {
		return strings.Compare(string(a.Type)+" "+a.Option+" "+a.Value, string(b.Type)+" "+b.Option+" "+b.Value)
	})
	return out
}

func withOption(all []acceptedOption, of farm.HostTypeName, found tune.Finding, c tune.Change) []acceptedOption {
	option := farm.OptionName(c.Variable)
	n := slices.IndexFunc(all, func(o acceptedOption) bool { return o.Type == of && o.Option == option && o.Value == c.To })
	if n < 0 {
		all = append(all, acceptedOption{Type: of, Option: option, Value: c.To, Rules: []string{}})
		n = len(all) - 1
	}
	if !slices.Contains(all[n].Rules, found.ID) {
		all[n].Rules = append(all[n].Rules, found.ID)
	}
	all[n].Servers = append(all[n].Servers, farm.InstanceName(c.Instance))
	return all
}

func (o acceptedOptions) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "farm.yaml: %s of host types, as tune --all found on %s\n", farm.Counted(len(o.Written), "option"), o.Taken)
	for _, x := range o.Written {
		fmt.Fprintf(&b, "  %s: %s = %s (%s, for %s)\n", x.Type, x.Option, x.Value, strings.Join(x.Rules, ", "), farm.Counted(len(x.Servers), "server"))
	}
	for _, x := range o.Left {
		fmt.Fprintf(&b, "  left: %s: %s = %s (%s): %s\n", x.Type, x.Option, x.Value, strings.Join(x.Rules, ", "), x.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
