package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

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
			if !shown || farm.SameOption(is, wants[name]) || name == "innodb_buffer_pool_size" && isRoundedPool(is, wants[name]) {
				continue
			}
			h, _ := f.Host(i.Host)
			out = append(out, farm.Finding{Check: "options-drift", Severity: farm.Warning, Subject: string(i.Name),
				Text:   fmt.Sprintf("runs with %s = %s, and host type %s says %s (instances there: %d)", name, is, h.Type, wants[name], on[i.Host]),
				Remedy: fmt.Sprintf("SET GLOBAL %s where the server can, and its option file; or change options of %s in farm.yaml", name, h.Type)})
		}
	}
	return out
}

// isRoundedPool: servers round a buffer pool up to whole chunks of 128 MiB for
// each of up to eight parts.
func isRoundedPool(is, want string) bool {
	got, err := strconv.ParseFloat(is, 64)
	size := farm.CacheOptions(func(name string) string {
		if name == "innodb_buffer_pool_size" {
			return want
		}
		return ""
	})
	for _, chunk := range []float64{128 << 20, 1 << 30} {
		if over := got - size; err == nil && over > 0 && over < chunk && int64(got)%int64(chunk) == 0 {
			return true
		}
	}
	return false
}
