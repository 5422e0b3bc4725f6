package mysql

import (
	"errors"
	"fmt"
	"testing"
	"time"

	binlog "github.com/go-mysql-org/go-mysql/replication"
)

// TestWhatCannotBeReadEndsTheReader, in its place: behind all that came before it, and only where it is asked for.
func TestWhatCannotBeReadEndsTheReader(t *testing.T) {
	t.Parallel()
	reader := func() *BinlogReader {
		return &BinlogReader{server: &Server{}, schema: "shop", tables: []string{"r"}, stream: binlog.NewBinlogStreamer()}
	}
	// An event of a kind that the parser does not give a meaning, like an update that has a JSON value in parts.
	parts := func(schema, table string) *binlog.BinlogEvent {
		return &binlog.BinlogEvent{Header: &binlog.EventHeader{EventType: binlog.PARTIAL_UPDATE_ROWS_EVENT},
			Event: &binlog.RowsEvent{Table: &binlog.TableMapEvent{Schema: []byte(schema), Table: []byte(table)}}}
	}
	incident := &binlog.BinlogEvent{Header: &binlog.EventHeader{EventType: binlog.INCIDENT_EVENT}, Event: &binlog.GenericEvent{}}
	for name, tt := range map[string]struct {
		event *binlog.BinlogEvent
		ends  bool
	}{
		"ours": {parts("shop", "r"), true}, "another table": {parts("shop", "u"), false}, "another database": {parts("shed", "r"), false}, "incident": {incident, true},
	} {
		r := reader()
		r.trx = Trx{N: 7}
		_, ok, err := r.understand(tt.event)
		var odd *Unreadable
		if ok || errors.As(err, &odd) != tt.ends || err != nil && (!tt.ends || odd.Trx.N != 7) {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
	for range 50 { // the stream may hand out its error before what is left
		r := reader()
		for n := range 3 {
			e := &binlog.MariadbGTIDEvent{}
			e.GTID.SequenceNumber = uint64(n + 1)
			if err := r.stream.AddEventToStreamer(&binlog.BinlogEvent{Header: &binlog.EventHeader{}, Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		r.stream.AddErrorToStreamer(fmt.Errorf("stream: %w", &binlog.EventError{Header: &binlog.EventHeader{}, Err: "no such type"}))
		for n := range uint64(3) {
			if c, ok, err := r.Next(t.Context(), time.Second); err != nil || !ok || c.Trx.N != n+1 {
				t.Fatalf("transaction %d: %+v %v %v", n+1, c, ok, err)
			}
		}
		for range 2 {
			var odd *Unreadable
			if _, _, err := r.Next(t.Context(), time.Second); !errors.As(err, &odd) || odd.Trx.N != 3 {
				t.Fatalf("the end: %v", err)
			}
		}
	}
}
