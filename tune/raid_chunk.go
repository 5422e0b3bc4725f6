package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// split is the part of page reads that may need two disks before it is worth a word.
const split = 0.1

var raidChunk = Rule{
	ID: "RAID-CHUNK", Title: "chunk of striped arrays", Reads: "/sys/block/mdN/md/chunk_size; strip size of controllers' volumes; innodb_page_size",
	Source: "md(4): a chunk is what one disk holds before the next one follows; mdadm(8): 512 KiB unless another is given; arithmetic",
	Except: "arrays that are read and written in large pieces only: backups, logs",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, a := range f.Arrays {
			if isWhole(a.Level) {
				continue
			}
			l.see(a.Name)
			if !stripes(a.Level) {
				l.lacks(a.Name, fmt.Sprintf("what its level %q means", a.Level), "mdadm --detail /dev/"+a.Name+" as root")
				continue
			}
			if a.Chunk <= 0 {
				l.lacks(a.Name, "its chunk size", "cat /sys/block/"+a.Name+"/md/chunk_size")
				continue
			}
			page := f.largestPage(a.Name)
			if x, bad := chunkOf(a.Name, fmt.Sprintf("/sys/block/%s/md/chunk_size: %s, %s of %d disks", a.Name, bytes(a.Chunk), a.Level, a.Disks), a.Chunk, page); bad {
				x.Fix = fmt.Sprintf("made anew with mdadm --create ... --chunk=512, or for level 4, 5 and 6 mdadm --grow /dev/%s --chunk=512, which rewrites every disk and takes days; move the data away first", a.Name)
				l.find(x)
			}
		}
		l.unanswered(f)
		for _, c := range f.Controllers {
			if c.VolumesMissing != "" {
				l.lacks(c.name(), "its volumes: "+c.VolumesMissing, c.askVolumes())
			}
			for _, v := range c.Volumes {
				subject := c.name() + " volume " + v.ID
				switch spans := c.Tool == "MegaCli" && v.Level == "RAID1"; { // MegaCli calls spans of mirrors RAID1, too
				case spans && v.Disks <= 0:
					l.lacks(subject, "of how many drives it is", c.askVolumes())
					continue
				case !stripes(v.Level) && !spans && !isWhole(v.Level):
					l.lacks(subject, fmt.Sprintf("what its level %q means", v.Level), c.askVolumes())
					continue
				case spans && v.Disks <= 2 || isWhole(v.Level) && !spans || v.Disks == 1:
					continue
				}
				l.see(subject)
				if v.Strip <= 0 {
					l.lacks(subject, "its strip size", c.askVolumes())
					continue
				}
				if x, bad := chunkOf(subject, fmt.Sprintf("strip size %s, %s", bytes(v.Strip), v.Level), v.Strip, f.largestPage("")); bad {
					x.Fix = "the volume made anew with a strip of 256 KiB, on the controller; the data goes elsewhere meanwhile"
					l.find(x)
				}
			}
		}
		return l.outcome("no striped array")
	},
}

// stripes reports whether an array of this level lays data over its disks piece by piece.
func stripes(level string) bool {
	switch level = strings.ToLower(level); level {
	case "raid0", "raid4", "raid5", "raid6", "raid10", "raid00", "raid50", "raid60":
		return true
	}
	return false
}

// isWhole reports whether each disk of an array of this level has all of it, or one piece without a break.
func isWhole(level string) bool {
	switch strings.ToLower(level) {
	case "raid1", "jbod", "linear", "multipath", "container", "faulty":
		return true
	}
	return false
}

// largestPage is the largest page of the instances on a device, or of all; InnoDB's default where nobody says.
func (f *Facts) largestPage(device string) int64 {
	page := int64(0)
	for _, i := range f.Instances {
		m, ok := f.mountOf(i.Datadir)
		if device != "" && (!ok || !f.standsOn(m.Device, device)) {
			continue
		}
		if n, _, ok := i.number("innodb_page_size"); ok {
			page = max(page, n)
		}
	}
	if page == 0 {
		return 16 << 10
	}
	return page
}

// standsOn reports whether a device is another one or is made of it.
func (f *Facts) standsOn(device, other string) bool {
	todo, seen := []string{device}, map[string]bool{}
	for len(todo) > 0 {
		d, ok := f.disk(todo[0])
		todo = todo[1:]
		if !ok || seen[d.Name] {
			continue
		}
		if d.Name == other {
			return true
		}
		seen[d.Name] = true
		todo = append(todo, d.Slaves...)
	}
	return false
}

// chunkOf judges a chunk by how many page reads it makes two reads. A page begins at any block of 4 KiB of the
// chunk: of chunk/4K places, (page-4K)/4K let it end on the next disk.
func chunkOf(subject, read string, chunk, page int64) (Finding, bool) {
	x := Finding{Severity: farm.Note, Subject: subject, Read: fmt.Sprintf("%s; pages of %s", read, bytes(page)), Persist: "it is in the array's own description", Revert: "-"}
	part := float64(page-4<<10) / float64(chunk)
	switch {
	case chunk < page:
		x.Severity = farm.Warning
		x.Verdict = fmt.Sprintf("every page is on %s: each read of one waits for as many", farm.Counted((page+chunk-1)/chunk, "disk"))
		x.Why = "a disk does a fixed number of reads a second, however small they are; a page on several disks takes one from each"
	case part >= split:
		x.Verdict = fmt.Sprintf("up to %.0f %% of the reads of pages need two disks", 100*part)
		x.Why = "a page that begins near the end of a chunk ends on the next disk; from 256 KiB on that is rare, and nothing of a database gains by less"
	default:
		return x, false
	}
	return x, true
}
