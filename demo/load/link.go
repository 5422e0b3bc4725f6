package load

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/route"
)

const (
	dialLimit = 5 * time.Second
	// silence is how long a server may say nothing before the connection
	// counts as lost. Longer than innodb_lock_wait_timeout (50 s), which
	// answers by itself.
	silence = 60 * time.Second
)

// link is the one connection of a client to a pair.
type link struct {
	address string
	db      *sql.DB
	conn    *sql.Conn // nothing in database/sql retries on a held Conn
}

func openLink(ctx context.Context, address, user, password string) (*link, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = user, password, "tcp", address
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialLimit, silence, silence
	cfg.InterpolateParams = true // one round trip a statement
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &link{address: address, db: db, conn: conn}, nil
}

func (k *link) close() {
	_ = k.conn.Close()
	_ = k.db.Close()
}

// connect makes sure that the pair's connection goes to address. fresh: a
// connection had to be opened.
func (c *client) connect(ctx context.Context, pair farm.PairName, address string) (k *link, fresh bool, err error) {
	if k = c.links[pair]; k != nil && k.address == address {
		return k, false, nil
	}
	c.disconnect(pair)
	// A stop must not cut a transaction short: its statements outlive ctx.
	k, err = openLink(context.WithoutCancel(ctx), address, c.load.o.User, c.load.o.Password)
	if err != nil {
		return nil, true, err
	}
	c.links[pair] = k
	return k, true, nil
}

func (c *client) disconnect(pair farm.PairName) {
	if k := c.links[pair]; k != nil {
		k.close()
		delete(c.links, pair)
	}
}

// openAll opens the connections to all pairs. A server that is just being
// switched gets ten seconds.
func (c *client) openAll(ctx context.Context) error {
	for _, pair := range c.load.pairs() {
		var err error
		for end := time.Now().Add(10 * time.Second); ; {
			_, address, ok := c.load.follow.Lookup(pair, c.name)
			if !ok {
				return &farm.Error{Op: "look up pair", Subject: string(pair), Err: farm.ErrInput,
					Hint: "the pair is not in " + c.load.o.Routing}
			}
			noTable := address == ""
			if err = route.ErrUnreadable; !noTable {
				_, _, err = c.connect(ctx, pair, address)
			}
			if err == nil {
				break
			}
			if ctx.Err() != nil || !noTable && !isLost(err) || time.Now().After(end) {
				return &farm.Error{Op: "connect to", Subject: address, Err: err}
			}
			pause(ctx, 50*time.Millisecond)
		}
	}
	return nil
}

// followAddresses moves idle connections after a change of routing. Failures
// do not matter here: the transaction that needs the connection meets them.
func (c *client) followAddresses(ctx context.Context) {
	t := c.load.follow.Table()
	if t.Generation == c.generation {
		return
	}
	c.generation = t.Generation
	for pair, k := range c.links {
		p, ok := t.Pairs[pair]
		if !ok {
			continue
		}
		if r, address := p.Locate(c.name); r.Gate == route.Open && address != k.address {
			_, _, _ = c.connect(ctx, pair, address)
		}
	}
}

const (
	readOnly       = 1290 // what a fenced server answers
	noTable        = 1146
	noDatabase     = 1049
	readOnlySchema = 3989
)

// isLost: the connection was refused or is gone. Everything that is not an
// answer of the server counts, and so do the answers with which a server takes
// its leave.
func isLost(err error) bool {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		switch answer.Number {
		case 1053, // server shutdown in progress
			1152, 1158, 1159, 1160, 1161, // aborted connection, network errors
			1927: // connection was killed (MariaDB)
			return true
		}
		return false
	}
	return err != nil && !errors.Is(err, sql.ErrNoRows)
}

func isReadOnly(err error) bool { return answered(err, readOnly) }

// isNotHere: what a shard that has gone to another pair answers, or one that is
// about to (on MySQL its database is read-only first). It means that only where
// routing has been written since the look.
func isNotHere(err error) bool { return answered(err, noTable, noDatabase, readOnlySchema) }

func answered(err error, with ...uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(with, answer.Number)
}
