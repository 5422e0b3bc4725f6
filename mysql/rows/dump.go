package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/backup/dump"
	"stowage/farm"
	"stowage/mysql"
)

const (
	dumpTries = 20
	dumpPause = 100 * time.Millisecond
	// dumpLockWait is how long the lock that holds commits back is waited for: a long write to a table of MyISAM is in its way, and other writers behind it.
	dumpLockWait = 5
)

// Dump writes databases as a stream of package dump: all of one position, while others write. So many sessions read side by side.
func Dump(ctx context.Context, server *mysql.Server, databases []string, streams int, w io.Writer) (dump.End, error) {
	s := mysql.Through(server)
	if unfit, err := UnfitForDump(ctx, server, databases); err != nil || len(unfit) > 0 {
		if err == nil {
			err = s.Fail("dump", &farm.Error{Op: "read", Subject: unfit[0].Table, Err: fmt.Errorf("%w: %s", farm.ErrRefused, unfit[0].Why), Hint: unfit[0].Remedy})
		}
		return dump.End{}, err
	}
	d, err := openDump(ctx, s, databases, max(1, streams))
	if err != nil {
		return dump.End{}, err
	}
	defer d.close()
	out, err := dump.NewWriter(w, d.head)
	if err != nil {
		return dump.End{}, err
	}
	for _, db := range d.shapes {
		if err := out.Add(dump.TablesOf(db.Database), d.tablesText(db), 0); err != nil {
			return dump.End{}, err
		}
	}
	if err := d.writeRows(ctx, out); err != nil {
		return dump.End{}, err
	}
	for _, db := range d.shapes {
		text, err := db.objectsText()
		if err != nil {
			return dump.End{}, s.Fail("write definitions of "+db.Name, err)
		}
		if err := out.Add(dump.ObjectsOf(db.Database), text, 0); err != nil {
			return dump.End{}, err
		}
	}
	if err := out.Add(dump.AccountsFile(), d.accounts, 0); err != nil {
		return dump.End{}, err
	}
	return out.Close()
}

// dumping is sessions that show one position, with the definitions of that moment.
type dumping struct {
	server   mysql.Door
	flavor   mysql.Flavor
	head     dump.Head
	shapes   []dumpShape
	accounts []byte
	readers  []*Stream
}

func (d *dumping) close() {
	for _, r := range d.readers {
		_ = r.Close() // it has only read
	}
}

// openDump finds a moment at which no definition changed.
func openDump(ctx context.Context, s mysql.Door, databases []string, streams int) (*dumping, error) {
	flavor, err := s.Flavor(ctx)
	if err != nil {
		return nil, err
	}
	for range dumpTries {
		n, err := schemaChanges(ctx, s)
		if err != nil {
			return nil, err
		}
		d := &dumping{server: s, flavor: flavor}
		if d.shapes, err = shapes(ctx, s, databases); err != nil {
			return nil, err
		}
		rows, err := s.GrantRows(ctx)
		if err == nil {
			d.accounts, err = mysql.SetupFrom(rows)
		}
		if err == nil {
			err = d.open(ctx, streams)
		}
		var after []dumpShape
		if err == nil {
			after, err = shapes(ctx, s, databases)
		}
		var now uint64
		if err == nil {
			now, err = schemaChanges(ctx, s)
		}
		if err != nil {
			d.close()
			return nil, err
		}
		if now == n && slices.EqualFunc(d.shapes, after, dumpShape.isAs) {
			for _, x := range d.shapes {
				d.head.Databases = append(d.head.Databases, x.Database)
			}
			return d, nil
		}
		d.close()
		if err := mysql.Sleep(ctx, dumpPause); err != nil {
			return nil, s.Fail("open dump", err)
		}
	}
	return nil, s.Fail("open dump", fmt.Errorf("%w: %d times", ErrSchemaChanges, dumpTries))
}

// open opens all sessions while writes are held back, for the milliseconds that takes, so that they show the same.
func (d *dumping) open(ctx context.Context, streams int) error {
	s := d.server
	patience := "net_write_timeout = 86400, wait_timeout = 86400" // a throttle may hold the stream for hours
	if d.flavor.HasGTIDDomains() {
		patience += ", idle_transaction_timeout = 0"
	}
	var sessions []*sql.Conn
	for range streams {
		r, err := OpenStream(ctx, s.Server, mysql.StatementTimeout)
		if err != nil {
			return err
		}
		d.readers, sessions = append(d.readers, r), append(sessions, r.conn)
		for _, st := range []string{"SET SESSION " + patience, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"} {
			if _, err := r.conn.ExecContext(ctx, st); err != nil {
				return s.Fail("open dump", err)
			}
		}
	}
	if d.flavor.HasGTIDDomains() {
		return d.openStaged(ctx)
	}
	moment, err := openLocked(ctx, s, sessions...)
	d.head.At, d.head.GTID = moment.since, moment.at.String()
	return err
}

// openStaged holds back the commits of MariaDB alone: nobody waits for a statement that reads.
func (d *dumping) openStaged(ctx context.Context) error {
	s := d.server
	holder, err := s.DB().Conn(ctx)
	if err != nil {
		return s.Fail("connect", err)
	}
	defer mysql.Discard(holder) // whatever it holds goes with it
	for _, st := range []string{"SET SESSION lock_wait_timeout = " + strconv.Itoa(dumpLockWait), "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"} {
		if _, err := holder.ExecContext(ctx, st); err != nil {
			return s.Fail("hold commits back", err)
		}
	}
	d.head.At = time.Now().UTC()
	for _, r := range d.readers {
		if _, err := r.conn.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
			return s.Fail("open dump", err)
		}
	}
	if _, err := holder.ExecContext(ctx, "BACKUP STAGE END"); err != nil {
		return s.Fail("let commits go on", err)
	}
	return d.position(ctx)
}

// position asks all sessions where they stand: it has to be one place.
func (d *dumping) position(ctx context.Context) error {
	var first map[string]string
	for _, r := range d.readers {
		at := map[string]string{}
		rows, err := r.conn.QueryContext(ctx, "SHOW SESSION STATUS LIKE 'binlog_snapshot_%'")
		if err != nil {
			return d.server.Fail("read snapshot position", err)
		}
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return errors.Join(d.server.Fail("read snapshot position", err), rows.Close())
			}
			at[strings.ToLower(name)] = value
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return d.server.Fail("read snapshot position", err)
		}
		if first == nil {
			first = at
		}
		if !maps.Equal(first, at) {
			return d.server.Fail("open dump", fmt.Errorf("two sessions show different places of the binary log: %v and %v", first, at))
		}
	}
	d.head.File = first["binlog_snapshot_file"]
	if d.head.File == "" {
		return nil // the server has no binary log
	}
	var err error
	if d.head.Offset, err = strconv.ParseInt(first["binlog_snapshot_position"], 10, 64); err != nil {
		return d.server.Fail("read snapshot position", err)
	}
	at, err := d.server.PositionAt(ctx, d.head.File, d.head.Offset)
	d.head.GTID = at.String()
	return err
}
