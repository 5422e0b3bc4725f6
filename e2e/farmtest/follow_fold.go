package farmtest

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// line is what stowage follow prints for a row.
type line struct {
	GTID   string          `json:"gtid"`
	Index  int             `json:"index"`
	Last   bool            `json:"last"`
	Op     string          `json:"op"`
	Table  string          `json:"table"`
	Key    json.RawMessage `json:"key"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	At     int64           `json:"at"`
}

// fold applies lines to rows by table and key, repeats left out, and judges their
// order: of all lines, or of those of each row alone.
func fold(t *testing.T, all []string, rows map[string]string, byRow bool) (lines, repeats int) {
	t.Helper()
	seen := map[string]bool{}
	newest := map[string]uint64{} // by GTID domain and server, and by row where only those are in order
	open := map[string]int{}      // lines that transactions lack; -1: their last one has not come
	for _, one := range all {
		var l line
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatalf("%v: %s", err, one)
		}
		lines++
		if id := l.GTID + " " + strconv.Itoa(l.Index); seen[id] {
			repeats++
			continue
		} else {
			seen[id] = true
		}
		open[l.GTID]--
		if l.Last {
			open[l.GTID] += l.Index + 1
		}
		key := l.Table + string(l.Key)
		at := strings.LastIndex(l.GTID, "-")
		n, err := strconv.ParseUint(l.GTID[at+1:], 10, 64)
		from := l.GTID[:at]
		if byRow {
			from += " " + key
		}
		if err != nil || n < newest[from] || l.At == 0 {
			t.Fatalf("out of order behind %d: %s", newest[from], one)
		}
		newest[from] = n
		if l.Op != "insert" && rows[key] != string(l.Before) {
			t.Fatalf("before this line the row is %q:\n%s", rows[key], one)
		}
		if l.Op == "delete" {
			delete(rows, key)
		} else {
			rows[key] = string(l.After)
		}
	}
	for id, lacks := range open {
		if lacks != 0 {
			t.Errorf("transaction %s is not whole", id)
		}
	}
	return lines, repeats
}
