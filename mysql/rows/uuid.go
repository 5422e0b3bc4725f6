package rows

import (
	"encoding/hex"
)

// shownUUID is the text of a UUID column's value as MariaDB keeps it, which is
// how it is in the binary log: the node first and the time last, so that
// values of one machine lie together. Values that are ordered as they are
// (version 6 and later, and what is not a UUID of a version) are kept as they are;
// those that were turned round show it by the bits of version and variant. So
// it is since MariaDB 10.11.5 and 11.1. A table made before turns every value
// round: there some of version 6 and later come out otherwise, and the
// comparison finds them (ALTER TABLE ... FORCE makes it one of today's).
func shownUUID(kept []byte) []byte {
	b := kept
	if len(b) == 16 && b[6]&-b[8]&0x80 != 0 {
		b = make([]byte, 0, 16)
		for _, part := range [][2]int{{12, 16}, {10, 12}, {8, 10}, {6, 8}, {0, 6}} {
			b = append(b, kept[part[0]:part[1]]...)
		}
	}
	var out []byte
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, []byte{x})
	}
	return out
}
