package probe

import (
	"strconv"
	"strings"

	"stowage/tune"
)

// running is a server process with its command line.
type running struct {
	tune.Process
	argv []string
}

func (p *prober) processes() []running {
	var out []running
	for _, name := range p.list("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		dir := "/proc/" + name
		if comm := p.peek(dir + "/comm"); comm != "mariadbd" && comm != "mysqld" {
			continue
		}
		p.value(dir + "/comm") // for a recording
		r := running{Process: tune.Process{PID: pid}}
		line, _ := p.read(dir + "/cmdline")
		r.argv = strings.Split(strings.TrimRight(line, "\x00\n"), "\x00")
		status, _ := p.read(dir + "/status")
		r.RSS, r.Swapped = kilobytes(status, "VmRSS:"), kilobytes(status, "VmSwap:")
		if _, rest, ok := strings.Cut(status, "THP_enabled:"); ok {
			on := strings.HasPrefix(strings.TrimSpace(rest), "1")
			r.HugePages = &on
		}
		if rollup, ok := p.read(dir + "/smaps_rollup"); ok {
			r.Huge = kilobytes(rollup, "AnonHugePages:")
		}
		r.Allocator = p.allocator(dir + "/maps")
		r.Queue = p.queue(pid)
		r.Throttles = p.throttles(dir)
		out = append(out, r)
	}
	return out
}

// peek reads without recording: hundreds of processes are of no interest.
func (p *prober) peek(name string) string {
	saved := p.saved
	p.saved = nil
	defer func() { p.saved = saved }()
	return p.value(name)
}

// allocator looks for the library; the list of mappings is long and is not
// recorded as a whole.
func (p *prober) allocator(name string) string {
	saved := p.saved
	p.saved = nil
	text, ok := p.read(name)
	p.saved = saved
	if !ok || text == "" {
		return ""
	}
	found := "glibc"
	for _, l := range strings.Split(text, "\n") {
		for _, lib := range []string{"jemalloc", "tcmalloc"} {
			if strings.Contains(l, "lib"+lib) {
				found = lib
				p.keep(name, l+"\n")
			}
		}
	}
	if found == "glibc" {
		p.keep(name, "libc.so.6\n")
	}
	return found
}
