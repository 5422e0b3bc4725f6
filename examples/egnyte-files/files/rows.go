package files

import (
	"encoding/binary"
	"iter"
	"strconv"
	"time"
)

// line is one row as LOAD DATA reads it: values with tabs between, \N for NULL, special bytes behind a backslash.
type line []byte

func (l line) number(v uint64) line { return append(strconv.AppendUint(l, v, 10), '\t') }
func (l line) text(s string) line   { return append(append(l, s...), '\t') }
func (l line) null() line           { return append(l, '\\', 'N', '\t') }
func (l line) end() line            { l[len(l)-1] = '\n'; return l }

func (l line) bytes(b []byte) line {
	for _, c := range b {
		switch c {
		case 0:
			l = append(l, '\\', '0')
		case '\t', '\n', '\\':
			l = append(l, '\\', c)
		default:
			l = append(l, c)
		}
	}
	return append(l, '\t')
}

// began is when the oldest row was made.
var began = time.Date(2014, 3, 1, 0, 0, 0, 0, time.UTC)

func (l line) moment(n int64) line {
	return append(began.Add(time.Duration(n)*time.Millisecond).AppendFormat(l, "2006-01-02 15:04:05.000000"), '\t')
}

func hashOf(seed, n uint64) [32]byte {
	var h [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(h[8*i:], mix(seed^n*0xD1342543DE82EF95^uint64(i)<<56))
	}
	return h
}

func (l *layout) tenantRows() iter.Seq[line] {
	return func(yield func(line) bool) {
		var row line
		for _, t := range l.tenants {
			row = row[:0].number(uint64(t.ID)).text("tenant " + strconv.Itoa(int(t.ID))).end()
			if !yield(row) {
				return
			}
		}
	}
}

// folderRows makes a tree of each tenant's folders: folder n is in folder n/8 of the same tenant, the first in none.
func (l *layout) folderRows() iter.Seq[line] {
	return func(yield func(line) bool) {
		var row line
		first := uint64(1)
		for _, t := range l.tenants {
			for n := int64(0); n < t.folders(); n++ {
				row = row[:0].number(first + uint64(n)).number(uint64(t.ID))
				if n == 0 {
					row = row.null()
				} else {
					row = row.number(first + uint64(n/8))
				}
				if !yield(row.text(pathOf(n)).end()) {
					return
				}
			}
			first += uint64(t.folders())
		}
	}
}

func pathOf(n int64) string {
	if n == 0 {
		return "/shared"
	}
	return pathOf(n/8) + "/project " + strconv.FormatInt(n, 10)
}

// firstFolders are the ids of each tenant's first folder, by the tenant's place.
func (l *layout) firstFolders() []uint64 {
	out := make([]uint64, len(l.tenants))
	next := uint64(1)
	for i, t := range l.tenants {
		out[i] = next
		next += uint64(t.folders())
	}
	return out
}

// fileRows come by file_id. The files of all tenants are mixed: the table grew while all of them worked.
func (l *layout) fileRows() iter.Seq[line] {
	return func(yield func(line) bool) {
		folders, order := l.firstFolders(), scatter(l.seed, l.files)
		var row line
		for id := int64(0); id < l.files; id++ {
			i := order.at(id)
			t := l.tenantOf(i)
			folder := folders[t.ID-1] + uint64((i-t.first)/filesPerFolder)
			row = row[:0].number(uint64(id + 1)).number(uint64(t.ID)).number(folder).
				text("document " + strconv.FormatInt(i-t.first, 10) + ".pdf").moment(id).end()
			if !yield(row) {
				return
			}
		}
	}
}

// fileIDs are the ids of all files, by their number.
func (l *layout) fileIDs() []uint32 {
	order, ids := scatter(l.seed, l.files), make([]uint32, l.files)
	for id := int64(0); id < l.files; id++ {
		ids[order.at(id)] = uint32(id + 1)
	}
	return ids
}

// versionRows come by version_id: first all first versions, in an order of their own, then all second ones, and so on. So no two
// versions of a file are neighbours, and one in 33 is deleted.
func (l *layout) versionRows() iter.Seq[line] {
	return func(yield func(line) bool) {
		ids := l.fileIDs()
		var row line
		id := uint64(0)
		for no := 1; no <= mostVersions; no++ {
			order := scatter(l.seed+uint64(no), l.files)
			for n := int64(0); n < l.files; n++ {
				i := order.at(n)
				if l.versionsOf(i) < no {
					continue
				}
				id++
				t, h := l.tenantOf(i), hashOf(l.seed, id)
				row = row[:0].number(id).number(uint64(t.ID)).number(uint64(ids[i])).number(uint64(no)).
					number(mix(id) % 1e8).bytes(h[:]).number(mix(id+l.seed) % 500).moment(l.files + int64(id))
				if mix(id^l.seed<<1)%33 == 0 {
					row = row.moment(l.files + int64(id) + 3600e3)
				} else {
					row = row.null()
				}
				if !yield(row.end()) {
					return
				}
			}
		}
	}
}
