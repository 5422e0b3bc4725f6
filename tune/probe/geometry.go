package probe

import (
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/tune"
)

// geometry asks how the filesystems on disks were made.
func (p *prober) geometry() {
	asked := map[string]bool{} // what is mounted twice, as bind mounts are, is one filesystem
	for _, m := range p.facts.Mounts {
		if asked[m.Device] {
			continue
		}
		var fs tune.Filesystem
		name, text, ok := fileWord(m.Dir), "", false
		switch m.Type {
		case "xfs":
			text, ok = p.command("xfs_info-"+name+".txt", []string{"xfs_info", m.Dir})
			if !ok {
				continue
			}
			fs = parseXFSInfo(text)
		case "ext2", "ext3", "ext4":
			text, ok = p.command("dumpe2fs-"+name+".txt", []string{"dumpe2fs", "-h", m.Device})
			if !ok {
				continue
			}
			fs = parseDumpe2fs(text)
		default:
			continue
		}
		asked[m.Device] = true
		if fs.Block == 0 {
			p.unread(m.Dir, "the answer about its geometry could not be read: "+lastLine(text))
			continue
		}
		fs.Dir, fs.Device, fs.Type = m.Dir, m.Device, m.Type
		p.facts.Filesystems = append(p.facts.Filesystems, fs)
	}
}

// lastLine is the end of an answer, where programs say what went wrong.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" && len(last) < 200 {
		return last
	}
	return "it is empty"
}

// fileWord is a path as part of a file's name: "var-lib-mysql", "root".
func fileWord(dir string) string {
	word := strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-")
	if word == "" {
		return "root"
	}
	return word
}

var xfsWord = lazy.Regexp(`(\w+)\s*=\s*(\d+)`)

// parseXFSInfo reads what xfs_info prints: a section for each part, with pairs
// of the same names in several of them. sunit and swidth count blocks.
func parseXFSInfo(text string) tune.Filesystem {
	values := map[string]int64{} // "data.bsize"
	section := ""
	for _, l := range strings.Split(text, "\n") {
		if head, _, ok := strings.Cut(l, "="); ok && l != "" && l[0] != ' ' {
			section = strings.TrimSpace(head)
			l = strings.TrimPrefix(l, head+"=")
		}
		for _, m := range xfsWord().FindAllStringSubmatch(l, -1) {
			n, err := strconv.ParseInt(m[2], 10, 64)
			if _, twice := values[section+"."+m[1]]; err == nil && !twice {
				values[section+"."+m[1]] = n
			}
		}
	}
	block := values["data.bsize"]
	if block <= 0 || block > 1<<20 {
		return tune.Filesystem{}
	}
	return tune.Filesystem{
		Block: block, Size: times(values["data.blocks"], block), Groups: int(values["meta-data.agcount"]),
		Stripe: times(values["data.sunit"], block), Width: times(values["data.swidth"], block),
	}
}

// parseDumpe2fs reads `dumpe2fs -h`. Stride and width count blocks.
func parseDumpe2fs(text string) tune.Filesystem {
	values := map[string]int64{}
	for _, l := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(l, ":")
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); ok && err == nil {
			values[strings.TrimSpace(key)] = n
		}
	}
	block := values["Block size"]
	if block <= 0 || block > 1<<20 {
		return tune.Filesystem{}
	}
	return tune.Filesystem{Block: block, Size: times(values["Block count"], block), Stripe: times(values["RAID stride"], block), Width: times(values["RAID stripe width"], block)}
}

// times multiplies numbers of an answer; one that cannot be is 0, as unknown.
func times(n, block int64) int64 {
	if n < 0 || n > (1<<62)/block {
		return 0
	}
	return n * block
}
