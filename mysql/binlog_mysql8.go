package mysql

import (
	"encoding/hex"
	"slices"
	"strings"

	binlog "github.com/go-mysql-org/go-mysql/replication"
)

// beginMySQL is the beginning of a transaction, or of a statement by itself:
// MySQL does not say which. What comes next does: BEGIN opens a transaction,
// XA START one that is ended by its PREPARE, and anything else is alone.
func (r *BinlogReader) beginMySQL(x *binlog.GTIDEvent, seconds uint32) (Change, bool, error) {
	if len(x.SID) != 16 || x.GNO <= 0 {
		return Change{}, false, r.unreadable("a transaction without a GTID: gtid_mode is not ON")
	}
	r.trx = Trx{Origin: Origin(withDashes(hex.EncodeToString(x.SID))), N: uint64(x.GNO)}
	if tag := x.Tag.String(); tag != "" {
		r.trx.Origin += Origin(":" + tag)
	}
	r.alone = true
	return Change{Kind: Begin, Trx: r.trx, Seconds: seconds}, true, nil
}

// opensMore: a statement of MySQL's log that is not all of its transaction.
func opensMore(text string) bool {
	words := strings.Fields(text)
	return len(words) > 1 && strings.EqualFold(words[0], "XA") && slices.ContainsFunc([]string{"START", "BEGIN", "END"}, func(w string) bool { return strings.EqualFold(words[1], w) })
}

// unpack reads a compressed transaction (binlog_transaction_compression).
func (r *BinlogReader) unpack(x *binlog.TransactionPayloadEvent) (Change, bool, error) {
	for _, e := range x.Events {
		before := len(r.pending)
		c, ok, err := r.understand(e)
		if err != nil {
			return Change{}, false, err
		}
		if ok { // what it has put behind itself comes behind it
			r.pending = slices.Insert(r.pending, before, c)
		}
	}
	if len(r.pending) == 0 {
		return Change{}, false, nil
	}
	c := r.pending[0]
	r.pending = r.pending[1:]
	return c, true, nil
}
