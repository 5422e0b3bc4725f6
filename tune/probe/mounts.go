package probe

import (
	"strings"

	"stowage/tune"
)

func (p *prober) mounts() {
	text, ok := p.read("/proc/mounts")
	if !ok {
		text, ok = p.read("/proc/self/mounts")
	}
	if !ok {
		p.unread("/proc/mounts", "cannot be read")
	}
	for _, l := range parseMounts(text) {
		p.facts.Mounts = append(p.facts.Mounts, l.Mount)
	}
	text, _ = p.read("/etc/fstab")
	p.facts.Fstab = parseMounts(text)
	p.facts.Systemd = len(p.list("/etc/systemd/system")) > 0
	const trim = "/etc/systemd/system/timers.target.wants/fstrim.timer"
	if p.facts.TrimTimer = p.exists(trim); p.facts.TrimTimer {
		p.keep(trim, "/lib/systemd/system/fstrim.timer\n")
	} else if p.facts.Systemd {
		p.keep("/etc/systemd/system/recorded", "")
	}
}

// parseMounts reads /proc/mounts and /etc/fstab, which have the same columns.
func parseMounts(text string) []tune.FstabLine {
	var out []tune.FstabLine
	for n, l := range strings.Split(text, "\n") {
		words := strings.Fields(l)
		if len(words) < 4 || strings.HasPrefix(words[0], "#") {
			continue
		}
		out = append(out, tune.FstabLine{Number: n + 1, Mount: tune.Mount{
			Device: unescape(words[0]), Dir: unescape(words[1]), Type: words[2], Options: strings.Split(words[3], ","),
		}})
	}
	return out
}

// unescape undoes how spaces are written in both files.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
