package inventory

import (
	"fmt"
	"maps"
	"slices"

	"stowage/farm"
)

// strayOptions says which servers run with something else than their host's
// type says. Options that no variable shows are left out.
func strayOptions(f *farm.Farm, instances []Instance) []farm.Finding {
	on := map[farm.HostName]int{}
	for _, i := range instances {
		on[i.Host]++
	}
	var out []farm.Finding
	for _, i := range instances {
		if i.Error != "" {
			continue
		}
		wants := f.OptionsOn(i.Host, on[i.Host])
		for _, name := range slices.Sorted(maps.Keys(wants)) {
			is, shown := i.options[name]
			if !shown || farm.OptionHolds(name, is, wants[name]) {
				continue
			}
			h, _ := f.Host(i.Host)
			out = append(out, farm.Finding{Check: "options-drift", Severity: farm.Warning, Subject: string(i.Name),
				Text:   fmt.Sprintf("runs with %s = %s, and host type %s says %s (instances there: %d)", name, is, h.Type, wants[name], on[i.Host]),
				Remedy: fmt.Sprintf("stowage roll options brings it there; or change options of %s in farm.yaml", h.Type)})
		}
	}
	return out
}
