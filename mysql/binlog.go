package mysql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	binlog "github.com/go-mysql-org/go-mysql/replication"

	"stowage/farm"
)

// ChangeKind says what the reader of a binary log has met.
type ChangeKind int

const (
	Begin     ChangeKind = iota // a transaction, or a statement by itself, begins: Trx
	Insert                      // Rows: new rows
	Update                      // Rows: old and new row in turn
	Delete                      // Rows: old rows
	Statement                   // Text, run with the default database Schema
	Commit                      // the transaction has ended: it is read
	Rollback                    // it has ended, and none of its rows counts
)

// Change is one thing out of a binary log, in the order of the log.
type Change struct {
	Kind          ChangeKind
	Trx           Trx
	Schema, Table string
	Rows          [][]any
	Skipped       [][]int // by row: the columns that the event lacks
	OldTimes      bool    // it has times of a format that is not taken over
	Bytes         int     // of the event that Rows came in
	Text          string
	Seconds       uint32 // of Begin: when it was committed, in seconds since 1970, by the server's clock
	shape         shape
}

// BinlogReader reads a server's binary log by GTID, as a replica would.
type BinlogReader struct {
	server  *Server
	schema  string
	tables  []string // none: all
	syncer  *binlog.BinlogSyncer
	stream  *binlog.BinlogStreamer
	trx     Trx
	alone   bool // one statement is all of the transaction
	pending []Change
	left    []*binlog.BinlogEvent // what had come before the stream ended
	ended   error
}

// Unreadable is something in a binary log that rows do not show, and that will be there again whenever it is read.
type Unreadable struct {
	Trx  Trx // it is part of it
	What string
}

func (e *Unreadable) Error() string { return e.What }

// unreadable tells what was met at the reader's place.
func (r *BinlogReader) unreadable(format string, args ...any) error {
	return &Unreadable{r.trx, fmt.Sprintf(format, args...)}
}

// readerSilence is how long a server may say nothing: it sends a heartbeat
// each second.
const readerSilence = 20 * time.Second

// Binlog begins to read behind a position. serverID must be nobody else's in
// the farm. Rows of other databases than schema do not come, and those of
// other tables than these, where any are named, come without their values.
func (s *Server) Binlog(ctx context.Context, serverID uint32, from Position, schema string, tables ...string) (*BinlogReader, error) {
	if serverID == 0 {
		return nil, s.fail("read binary log", errors.New("a reader needs a server id of its own"))
	}
	host, portText, err := net.SplitHostPort(s.address)
	if err != nil {
		return nil, s.fail("read binary log", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, s.fail("read binary log", err)
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	flavor := gomysql.MariaDBFlavor
	if !d.flavor.HasGTIDDomains() {
		flavor = gomysql.MySQLFlavor
	}
	set, err := gomysql.ParseGTIDSet(flavor, from.String())
	if err != nil {
		return nil, s.fail("read binary log", err)
	}
	r, told := &BinlogReader{server: s, schema: schema, tables: tables}, &refusal{}
	// No position in a file is ever used: from 11.4 on events need not carry
	// one (binlog_legacy_event_pos), so FillZeroLogPos is not needed either.
	syncer := binlog.NewBinlogSyncer(binlog.BinlogSyncerConfig{
		ServerID: serverID, Flavor: flavor, Host: host, Port: uint16(port),
		User: s.account.User, Password: s.account.Password, Charset: "utf8mb4", // and what the login is: Dialer
		RenderJSONAsMySQLText:   true, // 1.0 stays a double
		TimestampStringLocation: time.UTC, HeartbeatPeriod: time.Second, ReadTimeout: readerSilence,
		DisableRetrySync: true, // a lost connection is ours to mend, from the mark
		Logger:           slog.New(slog.DiscardHandler), EventCacheCount: 32, VerifyChecksum: true,
		Dialer: s.account.dialer(told),
		// What another database holds is not our business, and must not stop us where the parser does not know it.
		RowsEventDecodeFunc: func(e *binlog.RowsEvent, data []byte) error {
			at, err := e.DecodeHeader(data)
			if err != nil || e.Table == nil || !r.reads(e.Table) {
				return err
			}
			return e.DecodeData(at, data)
		},
	})
	stream, err := syncer.StartSyncGTID(set)
	if err != nil {
		syncer.Close()
		if told.err != nil {
			err = told.err
		}
		return nil, s.mayNotRead(ctx, s.fail("read binary log", err))
	}
	r.syncer, r.stream = syncer, stream
	return r, nil
}

// reads reports whether rows of a table are asked for.
func (r *BinlogReader) reads(t *binlog.TableMapEvent) bool {
	return string(t.Schema) == r.schema && (len(r.tables) == 0 || slices.Contains(r.tables, string(t.Table)))
}

// Close ends the reader.
func (r *BinlogReader) Close() { r.syncer.Close() }

// Next is the next change. It waits for one until wait has passed, not at all with 0; ok is false then. The error is an Unreadable where reading again does not help.
func (r *BinlogReader) Next(ctx context.Context, wait time.Duration) (c Change, ok bool, err error) {
	end := time.Now().Add(wait)
	for {
		if len(r.pending) > 0 {
			c, r.pending = r.pending[0], r.pending[1:]
			return c, true, nil
		}
		e, err := r.event(ctx, end)
		switch {
		case err != nil && ctx.Err() != nil:
			return c, false, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return c, false, nil
		case err != nil:
			return c, false, r.server.mayNotRead(ctx, r.server.fail("read binary log", err))
		}
		if c, ok, err := r.understand(e); err != nil || ok {
			if err != nil {
				err = r.server.fail("read binary log at "+r.trx.String(), err)
			}
			return c, ok, err
		}
	}
}

// mayNotRead says which privilege lacks where a server has let the account in, and gives it no binary log: it calls that a wrong password (1045).
func (s *Server) mayNotRead(ctx context.Context, err error) error {
	var said *gomysql.MyError
	if !errors.As(err, &said) || said.Code != gomysql.ER_ACCESS_DENIED_ERROR && said.Code != gomysql.ER_SPECIFIC_ACCESS_DENIED_ERROR {
		return err
	}
	lack, _ := s.LackingOf(ctx, "REPLICATION SLAVE") // what the server said is enough without
	if lack.IsNone() {
		return err
	}
	return &farm.Error{Op: "read binary log", Subject: string(s.name), Err: fmt.Errorf("%w: %s", farm.ErrRefused, lack.Text()), Hint: lack.Remedy()}
}

// over is a context that has ended: who waits with it takes what is there.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// event is the next one. What has come already costs no timer. GetEvent takes any of what is ready, the end of its context, too: so it
// is asked a few times.
func (r *BinlogReader) event(ctx context.Context, end time.Time) (*binlog.BinlogEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.ended != nil {
		return r.leftOver()
	}
	for range 4 {
		if e, err := r.stream.GetEvent(over); !errors.Is(err, context.Canceled) {
			return r.orEnd(e, err)
		}
	}
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	e, err := r.stream.GetEvent(limited)
	if over := limited.Err(); err != nil && over != nil && errors.Is(err, over) {
		return nil, over
	}
	return r.orEnd(e, err)
}

// orEnd notes that the stream has ended. Its error may overtake events that came before: those count first.
func (r *BinlogReader) orEnd(e *binlog.BinlogEvent, err error) (*binlog.BinlogEvent, error) {
	if err == nil {
		return e, nil
	}
	r.left, r.ended = r.stream.DumpEvents(), err
	return r.leftOver()
}

func (r *BinlogReader) leftOver() (*binlog.BinlogEvent, error) {
	if len(r.left) == 0 {
		var odd *binlog.EventError
		if errors.As(r.ended, &odd) {
			return nil, r.unreadable("an event (%s) cannot be read: %s", odd.Header.EventType, odd.Err)
		}
		return nil, r.ended
	}
	e := r.left[0]
	r.left = r.left[1:]
	return e, nil
}

// IsReaderRefused reports that the server itself ended a reader, with an error
// that will come again: the position is purged (1236), say.
func IsReaderRefused(err error) bool {
	var my *gomysql.MyError
	return errors.As(err, &my)
}

// IsPurged reports that a reader's position is not to be had from this server any more. Servers have one number for it and for
// everything else that is wrong with a position or the log itself (1236), so whoever gives up on it tries a few times first.
func IsPurged(err error) bool {
	var my *gomysql.MyError
	return errors.As(err, &my) && my.Code == gomysql.ER_MASTER_FATAL_ERROR_READING_BINLOG
}

func (r *BinlogReader) understand(e *binlog.BinlogEvent) (Change, bool, error) {
	switch x := e.Event.(type) {
	case *binlog.MariadbGTIDEvent:
		// The server id stands in the header, and the sequence in the event.
		r.trx = trxOf(GTID{Domain: x.GTID.DomainID, Server: e.Header.ServerID, Seq: x.GTID.SequenceNumber})
		r.alone = x.IsStandalone()
		return Change{Kind: Begin, Trx: r.trx, Seconds: e.Header.Timestamp}, true, nil
	case *binlog.GTIDEvent:
		return r.beginMySQL(x, e.Header.Timestamp)
	case *binlog.GtidTaggedLogEvent:
		return r.beginMySQL(&x.GTIDEvent, e.Header.Timestamp)
	case *binlog.TransactionPayloadEvent:
		return r.unpack(x)
	case *binlog.RowsEvent:
		c, ok, err := r.rows(x)
		c.Bytes = int(e.Header.EventSize)
		return c, ok, err
	case *binlog.XIDEvent:
		return r.end(Commit)
	case *binlog.QueryEvent:
		return r.query(x)
	}
	switch e.Header.EventType {
	case binlog.INCIDENT_EVENT:
		return Change{}, false, r.unreadable("the server reports that events were lost here (incident event)")
	case xaPrepareEvent:
		r.pending = append(r.pending, Change{Kind: Commit, Trx: r.trx})
		return Change{Kind: Statement, Trx: r.trx, Text: "XA PREPARE"}, true, nil
	}
	return Change{}, false, nil
}

func (r *BinlogReader) end(kind ChangeKind) (Change, bool, error) {
	return Change{Kind: kind, Trx: r.trx}, true, nil
}

func (r *BinlogReader) query(x *binlog.QueryEvent) (Change, bool, error) {
	text := string(x.Query)
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "BEGIN":
		r.alone = false
		return Change{}, false, nil
	case "COMMIT":
		return r.end(Commit)
	case "ROLLBACK":
		return r.end(Rollback)
	}
	if r.alone && !opensMore(text) {
		r.pending = append(r.pending, Change{Kind: Commit, Trx: r.trx})
	}
	return Change{Kind: Statement, Trx: r.trx, Schema: string(x.Schema), Text: text}, true, nil
}

// xaPrepareEvent is the number of XA_PREPARE_LOG_EVENT in both vendors' logs.
const xaPrepareEvent = binlog.EventType(38)

func (r *BinlogReader) rows(x *binlog.RowsEvent) (Change, bool, error) {
	if x.Table == nil {
		return Change{}, false, r.unreadable("rows of an unknown table")
	}
	if string(x.Table.Schema) != r.schema {
		return Change{}, false, nil
	}
	c := Change{Trx: r.trx, Schema: r.schema, Table: string(x.Table.Table), Rows: x.Rows, Skipped: x.SkippedColumns, shape: shapeOf(x.Table)}
	for _, kind := range x.Table.ColumnType {
		c.OldTimes = c.OldTimes || kind == gomysql.MYSQL_TYPE_TIMESTAMP || kind == gomysql.MYSQL_TYPE_TIME || kind == gomysql.MYSQL_TYPE_DATETIME
	}
	switch x.Type() {
	case binlog.EnumRowsEventTypeInsert:
		c.Kind = Insert
	case binlog.EnumRowsEventTypeUpdate:
		c.Kind = Update
		if len(x.Rows)%2 != 0 {
			return c, false, r.unreadable("an update of table %s without its new row", c.Table)
		}
	case binlog.EnumRowsEventTypeDelete:
		c.Kind = Delete
	default:
		if !r.reads(x.Table) {
			return Change{}, false, nil
		}
		return c, false, r.unreadable("an update of table %s has only parts of a JSON value (binlog_row_value_options)", c.Table)
	}
	return c, true, nil
}
