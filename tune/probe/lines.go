package probe

import (
	"path"
	"strings"

	"stowage/internal/lazy"
	"stowage/tune"
)

// settingFiles are where people leave settings of the block layer.
var settingFiles = []string{
	"/etc/udev/rules.d", "/etc/tuned", "/etc/default/grub", "/etc/default/grub.d", "/etc/rc.local", "/etc/rc.d/rc.local", "/etc/sysfs.conf", "/etc/sysfs.d",
	"/etc/tmpfiles.d", "/proc/cmdline",
}

var settingWords = lazy.Regexp(`scheduler|elevator|nr_requests|smp_affinity|set_irq_affinity`)

func (p *prober) lines() {
	for _, name := range settingFiles {
		p.linesIn(name, 3)
	}
}

func (p *prober) linesIn(name string, depth int) {
	if text, ok := p.read(name); ok {
		for n, l := range strings.Split(text, "\n") {
			if l = strings.TrimSpace(l); settingWords().MatchString(l) && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, ";") {
				p.facts.Lines = append(p.facts.Lines, tune.Line{File: name, Number: n + 1, Text: l})
			}
		}
		return
	}
	if depth == 0 {
		return
	}
	for _, x := range p.list(name) {
		p.linesIn(path.Join(name, x), depth-1)
	}
}
