package load

import (
	"context"
	"fmt"

	"stowage/farm"
)

// A column that comes while clients write, or goes: Options.Column of receipts. A client writes it as soon as a server takes it, with the number of its receipt; a server that
// does not know it gets the row without. Which of the two it was may change once for each change of the table, and never back: a client that meets the old table again has met two schemas.

// unknownColumn: the table has no such column.
const unknownColumn = 1054

// insertReceipt writes one receipt; wrote is whether with the column.
func (v *visit) insertReceipt(ctx context.Context, at place, seq, listing int64, amount int) (wrote bool, err error) {
	into := fmt.Sprintf("INSERT INTO `%s`.receipts (client, seq, listing_id, amount, made", v.shard)
	if v.load.o.Column != "" {
		err := v.exec(ctx, at, kindInsert, into+", `"+v.load.o.Column+"`) VALUES (?, ?, ?, ?, NOW(6), ?)", v.name, seq, listing, amount, seq)
		if err == nil || !answered(err, unknownColumn) {
			v.met(err == nil)
			return err == nil, err
		}
		v.met(false)
	}
	return false, v.exec(ctx, at, kindInsert, into+") VALUES (?, ?, ?, ?, NOW(6))", v.name, seq, listing, amount)
}

// met notes which table the client has met.
func (v *visit) met(column bool) {
	if was, known := v.columns[v.shard]; known && was != column {
		v.load.tally.count(func(s *Summary) { s.ColumnChanges++ })
	}
	if v.columns == nil {
		v.columns = map[farm.ShardName]bool{}
	}
	v.columns[v.shard] = column
}
