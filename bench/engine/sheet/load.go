package sheet

import (
	"fmt"

	"stowage/farm"
)

// Load is what one client does again and again. A unit of it counts as one transaction.
type Load struct {
	ID           string `json:"id"`
	Answers      string `json:"answers"`
	Writes       bool   `json:"writes"`
	Transactions bool   `json:"transactions"` // several statements that are one
	Statements   string `json:"statements"`
}

// Loads are all there are, in the order of the table.
var Loads = []Load{
	{"point", "reads by primary key", false, false, "SELECT c WHERE id = ?"},
	{"update", "single rows changed by primary key, each a transaction", true, false, "UPDATE c WHERE id = ?"},
	{"write", "transactions that only write", true, true, "BEGIN; UPDATE k = k + 1 (indexed); UPDATE c; DELETE a row and INSERT it anew; COMMIT"},
	{"rw", "transactions that read and write", true, true, "BEGIN; 10 SELECT c WHERE id = ?; SELECT of a range of 100 rows; the statements of write; COMMIT"},
}

// ParseLoads reads names.
func ParseLoads(ids []string) ([]Load, error) {
	var out []Load
	have := map[string]bool{}
	for _, id := range ids {
		l := LoadNamed(id)
		if l == nil {
			return nil, &farm.Error{Op: "read load", Subject: id, Err: fmt.Errorf("%w: no such load", farm.ErrInput), Hint: "loads are point, update, write and rw"}
		}
		if !have[id] {
			out = append(out, *l)
		}
		have[id] = true
	}
	return out, nil
}

// LoadNamed is the load of that name, or nil.
func LoadNamed(id string) *Load {
	for _, l := range Loads {
		if l.ID == id {
			return &l
		}
	}
	return nil
}

// The table that is measured has the shape of sysbench's: id, an indexed number k, c and pad, of random letters.
const (
	Tables    = 2
	LengthC   = 120
	LengthPad = 60
	// RowBytes is what a row holds: two numbers of four bytes and both texts. It is what write amplification is counted by: a row
	// that is inserted or updated counts whole, one that is deleted counts as its key.
	RowBytes = 4 + 4 + LengthC + LengthPad
	KeyBytes = 4
)

// Changed is how many bytes of rows one unit of a load changes.
func (l Load) Changed() int64 {
	switch {
	case !l.Writes:
		return 0
	case l.Transactions:
		return 3*RowBytes + KeyBytes
	}
	return RowBytes
}

// DataBytes is what so many rows a table hold, in all tables.
func DataBytes(rows int) int64 { return int64(rows) * Tables * RowBytes }
