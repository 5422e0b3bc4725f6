package traffic

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	my "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/mysql"
)

// Client is one connection that says what others once said: statements that
// Stowage did not write. What may be said is decided by the caller; the
// connection itself never takes several statements in one text, never sends a
// local file, and with ReadOnly the server refuses to change tables.
//
// It is for one goroutine at a time. Unlike Server it keeps the server's own
// defaults (sql_mode, time zone), as the clients did that it stands for.
type Client struct {
	server   mysql.Door
	conn     driver.Conn
	wire     *wire
	prepared map[string]driver.Stmt
	recent   []string // of prepared, the oldest first
	seed     maphash.Seed
	thread   uint64
}

// ClientOptions say how a Client logs in.
type ClientOptions struct {
	Database string
	ReadOnly bool // every transaction is READ ONLY
	// Longest is after which time the server cuts off a query, and one that waits for the lock of a table after a second.
	// Zero: never.
	Longest time.Duration
	Seed    maphash.Seed // of row sums; two clients with one seed can be compared; zero: one of its own
}

// maxPrepared is how many prepared statements a Client keeps open.
const maxPrepared = 128

// Answer is what came back for one statement.
type Answer struct {
	Rows, Affected, Bytes uint64
	Warnings              uint16
	Code                  uint16 // the server's error; 0: none
	Text                  string // of the error
	Took, First           time.Duration

	// The following are only filled when a sum was asked for.
	Columns []string // name and type
	Sum     RowSum
	Sample  []string // the first rows, as text
	IsWhole bool     // Sample has all rows
}

// RowSum is a sum over rows: Bag is the same in whatever order they come,
// Ordered is not.
type RowSum struct{ Bag, Ordered uint64 }

// ErrLost says that a connection broke: whether the statement ran is unknown.
var ErrLost = errors.New("connection lost")

// OpenClient logs in.
func OpenClient(ctx context.Context, server *mysql.Server, o ClientOptions) (*Client, error) {
	s := mysql.Through(server)
	if o.Seed == (maphash.Seed{}) {
		o.Seed = NewSeed()
	}
	c := &Client{server: s, prepared: map[string]driver.Stmt{}, seed: o.Seed}
	connector, err := mysql.Connector(s.Address(), s.Account(), func(cfg *my.Config) {
		cfg.DBName, cfg.CheckConnLiveness = o.Database, false
		cfg.ConnectionAttributes = "program_name:stowage-replay"
		dial := cfg.DialFunc
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			c.wire = &wire{Conn: conn} // above TLS: it counts packets
			return c.wire, err
		}
	})
	if err != nil {
		return nil, s.Fail("connect", err)
	}
	ctx, cancel := context.WithTimeout(ctx, mysql.StatementTimeout)
	defer cancel()
	if c.conn, err = connector.Connect(ctx); err != nil {
		return nil, s.Fail("connect", err)
	}
	if err := c.greet(ctx, o); err != nil {
		_ = c.Close()
		return nil, s.Fail("connect", err)
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context, o ClientOptions) error {
	if o.ReadOnly {
		if err := c.must(ctx, "SET SESSION TRANSACTION READ ONLY"); err != nil {
			return err
		}
	}
	if o.Longest > 0 {
		if err := c.bound(ctx, o.Longest); err != nil {
			return err
		}
	}
	id, err := c.ask(ctx, "SELECT CONNECTION_ID()")
	if err == nil {
		c.thread, err = strconv.ParseUint(id, 10, 64)
	}
	return err
}

// bound has the server cut queries off, in MariaDB's words or MySQL's.
func (c *Client) bound(ctx context.Context, longest time.Duration) error {
	err := c.must(ctx, fmt.Sprintf("SET SESSION max_statement_time = %.3f, lock_wait_timeout = 1", longest.Seconds()))
	if mysql.CodeOf(err) == 1193 {
		err = c.must(ctx, fmt.Sprintf("SET SESSION max_execution_time = %d, lock_wait_timeout = 1", longest.Milliseconds()))
	}
	return err
}

// Thread is the connection's id on the server.
func (c *Client) Thread() uint64 { return c.thread }

// Close drops the connection; the server rolls back what was open.
func (c *Client) Close() error { return c.conn.Close() }

// Query sends one statement as text. An error of the server is in the Answer;
// an error returned means that the connection is of no more use.
func (c *Client) Query(ctx context.Context, text string, sum bool) (Answer, error) {
	c.server.Tell(ctx, "replays", text)
	return c.say(func() (driver.Rows, error) {
		return c.conn.(driver.QueryerContext).QueryContext(ctx, text, nil)
	}, sum)
}

// Execute sends a prepared statement with its values, which are nil, int64,
// uint64, float64, string or []byte. It is prepared when it is new to the
// connection; that is not in the answer's times.
func (c *Client) Execute(ctx context.Context, text string, values []any, sum bool) (Answer, error) {
	st, err := c.prepare(ctx, text)
	if err != nil {
		return c.failed(err)
	}
	if n := st.NumInput(); n != len(values) {
		return Answer{}, &farm.Error{Op: "execute", Subject: string(c.server.Name()),
			Err: fmt.Errorf("%w: the statement has %d parameters, the recording has %s", ErrValues, n, farm.Counted(len(values), "value"))}
	}
	named := make([]driver.NamedValue, len(values))
	for i, v := range values {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	c.server.Tell(ctx, "replays", text)
	return c.say(func() (driver.Rows, error) { return st.(driver.StmtQueryContext).QueryContext(ctx, named) }, sum)
}

// ErrValues says that the values of a prepared statement do not fit it.
// Nothing was sent.
var ErrValues = errors.New("values do not fit")

func (c *Client) prepare(ctx context.Context, text string) (driver.Stmt, error) {
	if st := c.prepared[text]; st != nil {
		return st, nil
	}
	st, err := c.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(c.recent) >= maxPrepared {
		_ = c.prepared[c.recent[0]].Close()
		delete(c.prepared, c.recent[0])
		c.recent = c.recent[1:]
	}
	c.prepared[text], c.recent = st, append(c.recent, text)
	return st, nil
}

// say sends, reads everything that comes back, and takes the time.
func (c *Client) say(send func() (driver.Rows, error), sum bool) (Answer, error) {
	c.wire.begin()
	begin := time.Now()
	rows, err := send()
	var a Answer
	if err == nil {
		if sum {
			err = c.read(rows, &a)
		}
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}
	a.Took = time.Since(begin)
	t := &c.wire.tally
	a.Rows, a.Affected, a.Bytes, a.Warnings = t.rows, t.affected, t.bytes, t.warnings
	if !t.first.IsZero() {
		a.First = max(0, t.first.Sub(begin))
	}
	if err == nil {
		return a, nil
	}
	failed, err := c.failed(err)
	a.Code, a.Text = failed.Code, failed.Text
	return a, err
}

// failed tells an error of the server from one of the connection.
func (c *Client) failed(err error) (Answer, error) {
	var said *my.MySQLError
	if errors.As(err, &said) && said.Number != 0 {
		return Answer{Code: said.Number, Text: said.Message}, nil
	}
	return Answer{}, c.server.Fail("say", fmt.Errorf("%w: %w", ErrLost, err))
}

// sampleBytes is how much of a result is kept as text.
const sampleBytes = 16 << 10

// read sums up all results.
func (c *Client) read(rows driver.Rows, a *Answer) error {
	a.IsWhole = true
	var line []byte
	kept := 0
	for {
		names := rows.Columns()
		kinds := make([]string, len(names))
		for i, n := range names {
			if t, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
				kinds[i] = t.ColumnTypeDatabaseTypeName(i)
			}
			a.Columns = append(a.Columns, n+" "+kinds[i])
		}
		cells := make([]driver.Value, len(names))
		for len(names) > 0 {
			err := rows.Next(cells)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			line = appendRow(line[:0], cells, kinds)
			h := maphash.Bytes(c.seed, line)
			a.Sum.Bag += h
			a.Sum.Ordered = a.Sum.Ordered*0x9e3779b97f4a7c15 + h
			if kept += len(line); kept <= sampleBytes {
				a.Sample = append(a.Sample, string(line))
			} else {
				a.IsWhole = false
			}
		}
		next, ok := rows.(driver.RowsNextResultSet)
		if !ok || !next.HasNextResultSet() {
			return nil
		}
		if err := next.NextResultSet(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// appendRow writes a row so that equal text means equal values. The last bits
// of a double depend on the order in which it was added up, so twelve digits
// of it count, and six of a float.
func appendRow(to []byte, cells []driver.Value, kinds []string) []byte {
	for i, v := range cells {
		if i > 0 {
			to = append(to, ", "...)
		}
		digits := 12
		if kinds[i] == "FLOAT" {
			digits = 6
		}
		switch v := v.(type) {
		case nil:
			to = append(to, "NULL"...)
		case int64:
			to = strconv.AppendInt(to, v, 10)
		case uint64:
			to = strconv.AppendUint(to, v, 10)
		case float32:
			to = appendFloat(to, float64(v), 6)
		case float64:
			to = appendFloat(to, v, digits)
		case []byte:
			to = strconv.AppendQuote(to, string(v))
		default:
			to = fmt.Appendf(to, "%v", v)
		}
	}
	return to
}

func appendFloat(to []byte, v float64, digits int) []byte {
	if v == 0 || math.IsNaN(v) {
		v = 0 // -0 is 0
	}
	return strconv.AppendFloat(to, v, 'g', digits, 64)
}

// Use changes the database. A server that does not have it says so in the
// Answer.
func (c *Client) Use(ctx context.Context, database string) (Answer, error) {
	return c.Query(ctx, "USE "+mysql.Ident(database), false)
}

// Mode is the session's sql_mode.
func (c *Client) Mode(ctx context.Context) (string, error) {
	return c.ask(ctx, "SELECT @@SESSION.sql_mode")
}

// RoundTrip is the time of a ping, which the server answers without any work.
func (c *Client) RoundTrip(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	err := c.conn.(driver.Pinger).Ping(ctx)
	return time.Since(begin), c.server.Fail("ping", err)
}

// must runs a statement of ours.
func (c *Client) must(ctx context.Context, text string) error {
	a, err := c.Query(ctx, text, false)
	if err == nil && a.Code != 0 {
		err = &my.MySQLError{Number: a.Code, Message: a.Text}
	}
	return err
}

// ask is the one value a query of ours returns.
func (c *Client) ask(ctx context.Context, query string) (string, error) {
	a, err := c.Query(ctx, query, true)
	switch {
	case err != nil:
		return "", err
	case a.Code != 0:
		return "", &my.MySQLError{Number: a.Code, Message: a.Text}
	case len(a.Sample) == 0:
		return "", fmt.Errorf("%s: no answer", mysql.FirstWords(query))
	}
	if text, err := strconv.Unquote(a.Sample[0]); err == nil {
		return text, nil
	}
	return a.Sample[0], nil
}

// quotedList is the names as literals of an IN.
func quotedList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = mysql.Quote(n)
	}
	return strings.Join(out, ", ")
}

// NewSeed is a seed for ClientOptions.
func NewSeed() maphash.Seed { return maphash.MakeSeed() }
