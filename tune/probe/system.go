package probe

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"stowage/tune"
)

// sysctls are the kernel parameters that rules read.
var sysctls = []string{
	"vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_background_bytes",
	"vm.zone_reclaim_mode", "fs.aio-nr", "fs.aio-max-nr",
}

func (p *prober) system() {
	f := &p.facts
	f.Host = p.value("/proc/sys/kernel/hostname")
	f.Kernel = tune.ParseVersion(p.value("/proc/sys/kernel/osrelease"))
	f.Vendor = p.value("/sys/class/dmi/id/sys_vendor")
	f.Product = p.value("/sys/class/dmi/id/product_name")
	meminfo, ok := p.read("/proc/meminfo")
	if f.Memory = kilobytes(meminfo, "MemTotal:"); !ok {
		p.unread("/proc/meminfo", "cannot be read")
	}
	f.Sys = map[string]string{}
	for _, name := range sysctls {
		if v := p.value("/proc/sys/" + strings.Replace(name, ".", "/", 1)); v != "" {
			f.Sys[name] = v
		}
	}
	swaps, _ := p.read("/proc/swaps")
	for _, l := range strings.Split(swaps, "\n") {
		if words := strings.Fields(l); len(words) > 1 && words[0] != "Filename" {
			f.Swaps = append(f.Swaps, words[0])
		}
	}
	f.HugePages = tune.Chosen(p.value("/sys/kernel/mm/transparent_hugepage/enabled"))
	f.Clock = p.value("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	p.cpu()
	p.nodes()
	p.governors()
}

func (p *prober) nodes() {
	const dir = "/sys/devices/system/node"
	for _, name := range p.list(dir) {
		digits, ok := strings.CutPrefix(name, "node")
		id, err := strconv.Atoi(digits)
		if !ok || err != nil {
			continue
		}
		text, _ := p.read(path.Join(dir, name, "meminfo"))
		p.facts.Nodes = append(p.facts.Nodes, tune.Node{ID: id, Memory: kilobytes(text, "MemTotal:")})
	}
}

func (p *prober) governors() {
	const dir = "/sys/devices/system/cpu/cpufreq"
	for _, name := range p.list(dir) {
		g := tune.Governor{Driver: p.value(path.Join(dir, name, "scaling_driver")), Name: p.value(path.Join(dir, name, "scaling_governor")), Policies: []string{name}}
		if g.Name == "" {
			continue
		}
		g.Offered = strings.Fields(p.value(path.Join(dir, name, "scaling_available_governors")))
		i := slices.IndexFunc(p.facts.Governors, func(x tune.Governor) bool {
			return x.Driver == g.Driver && x.Name == g.Name && slices.Equal(x.Offered, g.Offered)
		})
		if i < 0 {
			p.facts.Governors = append(p.facts.Governors, g)
			continue
		}
		p.facts.Governors[i].Policies = append(p.facts.Governors[i].Policies, name)
	}
}

// kilobytes finds "key  N kB" anywhere in a line and returns bytes.
func kilobytes(text, key string) int64 {
	for _, l := range strings.Split(text, "\n") {
		if _, rest, ok := strings.Cut(l, key); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				n, _ := strconv.ParseInt(words[0], 10, 64) // 0 when it is not a number: not known
				return n << 10
			}
		}
	}
	return 0
}
