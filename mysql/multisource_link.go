package mysql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LinkPrefix begins the names of replication connections that are Stowage's,
// beside the one by which a server follows its twin.
const LinkPrefix = "stowage_"

// LinkName is the name of a job's connection.
func LinkName(job string) string {
	sum := sha256.Sum256([]byte(job))
	return LinkPrefix + hex.EncodeToString(sum[:6])
}

// Link is a replication connection of a MariaDB server beside its own, which
// applies the rows of some tables of one database and nothing else.
//
// It follows by file and offset. By GTID it could not: that begins at
// gtid_slave_pos, which belongs to all connections of a server and can be set
// only while none of them runs. Each event's GTID is noted in gtid_slave_pos all
// the same, in the event's own transaction.
//
// Both filters are needed. replicate_do_db keeps out statements that were run
// with another database as the default, or none; it lets all others in, GRANT
// and CREATE TABLE elsewhere.t among them. replicate_do_table keeps those out,
// and the marks. A wild_do_table would let the marks in.
type Link struct {
	Name   string
	Schema string
	Tables []string
}

// Lines are the filters as lines of an option file: those that are set while a
// server runs are gone when it restarts, and the connection is not.
func (l Link) Lines() []string {
	out := []string{l.Name + ".replicate_do_db = " + l.Schema}
	for _, t := range l.Tables {
		out = append(out, l.Name+".replicate_do_table = "+l.Schema+"."+t)
	}
	return out
}

func (l Link) tables() []string {
	out := make([]string, len(l.Tables))
	for i, t := range l.Tables {
		out[i] = l.Schema + "." + t
	}
	slices.Sort(out)
	return out
}

// LinkState is what a server says about such a connection.
type LinkState struct {
	Exists     bool
	Source     string // host:port
	IO, SQL    string // Yes, No, Connecting, Preparing
	IsFiltered bool   // exactly as the Link says
	Error      string // why a thread has ended by itself
	hasLog     bool   // the source has sent something
}

// IsStopped reports that neither thread is at work.
func (x LinkState) IsStopped() bool { return x.IO == "No" && x.SQL == "No" }

// Runs reports that both threads are at work and the source feeds them.
func (x LinkState) Runs() bool { return x.IO == "Yes" && x.SQL == "Yes" && x.hasLog }

// LinkState reads it.
func (s *Server) LinkState(ctx context.Context, l Link) (LinkState, error) {
	records, err := s.records(ctx, "SHOW ALL SLAVES STATUS")
	if err != nil {
		return LinkState{}, err
	}
	for _, r := range records {
		if !strings.EqualFold(r["Connection_name"], l.Name) {
			continue
		}
		x := LinkState{Exists: true, Source: net.JoinHostPort(r["Master_Host"], r["Master_Port"]), IO: r["Slave_IO_Running"], SQL: r["Slave_SQL_Running"],
			hasLog: r["Master_Log_File"] != ""}
		has := strings.Split(r["Replicate_Do_Table"], ",")
		slices.Sort(has)
		x.IsFiltered = r["Replicate_Do_DB"] == l.Schema && slices.Equal(has, l.tables())
		for _, e := range []string{r["Last_SQL_Error"], r["Last_IO_Error"]} {
			if e != "" && (x.SQL == "No" || x.IO == "No") && x.Error == "" {
				x.Error = e
			}
		}
		return x, nil
	}
	return LinkState{}, nil
}

// Links are the names of all connections of the server that are Stowage's.
func (s *Server) Links(ctx context.Context) ([]string, error) {
	records, err := s.records(ctx, "SHOW ALL SLAVES STATUS")
	var out []string
	for _, r := range records {
		if strings.HasPrefix(strings.ToLower(r["Connection_name"]), LinkPrefix) {
			out = append(out, r["Connection_name"])
		}
	}
	return out, err
}

// linkLock is held by the session that makes or ends a link: what a killed
// program has sent is over before its successor begins.
const linkLock = "stowage.link"

// OpenLink makes the connection, which must not exist, and starts it at a place
// in the source's binary log. The filters are there before it applies anything.
func (s *Server) OpenLink(ctx context.Context, l Link, source string, as Account, file string, offset int64) error {
	host, port, err := net.SplitHostPort(source)
	if err != nil {
		return s.fail("CHANGE MASTER", err)
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if as, err = as.At(source).LinkedAs(ctx, s); err != nil { // as the server's own link
		return err
	}
	name := quote(l.Name)
	if err := s.alone(ctx, linkLock,
		fmt.Sprintf("CHANGE MASTER %s TO MASTER_HOST=%s, MASTER_PORT=%s, MASTER_USER=%s, MASTER_PASSWORD=%s, MASTER_LOG_FILE=%s, MASTER_LOG_POS=%d, "+
			"MASTER_USE_GTID=no, MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=2", name, quote(host), port, quote(as.User), quote(as.Password), quote(file), offset)+as.Source.clauses(d),
		"SET GLOBAL "+l.Name+".replicate_do_db = "+quote(l.Schema),
		"SET GLOBAL "+l.Name+".replicate_do_table = "+quote(strings.Join(l.tables(), ",")),
	); err != nil {
		return err
	}
	return s.StartLink(ctx, l)
}

// StartLink starts a connection that has its filters, and waits until it runs.
func (s *Server) StartLink(ctx context.Context, l Link) error {
	x, err := s.LinkState(ctx, l)
	if err != nil {
		return err
	}
	if !x.Exists || !x.IsFiltered {
		return s.fail("START SLAVE "+l.Name, errors.New("the connection does not have its filters"))
	}
	if err := s.alone(ctx, linkLock, "START SLAVE "+quote(l.Name)); err != nil {
		return err
	}
	for deadline := time.Now().Add(StatementTimeout); ; {
		x, err := s.LinkState(ctx, l)
		switch {
		case err != nil || x.Runs():
			return err
		case x.Error != "":
			return s.fail("START SLAVE "+l.Name, errors.New(x.Error))
		case time.Now().After(deadline):
			return s.fail("START SLAVE "+l.Name, fmt.Errorf("threads did not come up: IO %s, SQL %s", x.IO, x.SQL))
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return s.fail("START SLAVE "+l.Name, err)
		}
	}
}

// HoldLink stops applying and goes on receiving; StopLink stops both.
func (s *Server) HoldLink(ctx context.Context, l Link) error {
	return s.alone(ctx, linkLock, "STOP SLAVE "+quote(l.Name)+" SQL_THREAD")
}

// StopLink stops the connection and leaves it there.
func (s *Server) StopLink(ctx context.Context, l Link) error {
	return s.alone(ctx, linkLock, "STOP SLAVE "+quote(l.Name))
}

// RunLinkTo lets a held connection apply up to a place of the source's binary
// log, and nothing behind it.
func (s *Server) RunLinkTo(ctx context.Context, l Link, file string, offset int64) error {
	return s.alone(ctx, linkLock, fmt.Sprintf("START SLAVE %s SQL_THREAD UNTIL MASTER_LOG_FILE = %s, MASTER_LOG_POS = %d", quote(l.Name), quote(file), offset))
}

// DropLink ends the connection and forgets it, in any state and more than once.
// was: there was one.
func (s *Server) DropLink(ctx context.Context, l Link) (was bool, err error) {
	x, err := s.LinkState(ctx, l)
	if err != nil || !x.Exists {
		return false, err
	}
	return true, s.alone(ctx, linkLock, "STOP SLAVE "+quote(l.Name), "RESET SLAVE "+quote(l.Name)+" ALL")
}

// AwaitApplied waits a moment for a transaction to be applied, by whichever
// connection.
func (s *Server) AwaitApplied(ctx context.Context, g GTID, moment time.Duration) error {
	var rc int
	return s.row(ctx, "SELECT MASTER_GTID_WAIT(?, ?)", []any{g.String(), moment.Seconds()}, &rc)
}

// RowsWritten counts the rows that were inserted, changed and deleted since the
// server's start, by clients and by replication; not those of temporary tables.
func (s *Server) RowsWritten(ctx context.Context) (int64, error) {
	records, err := s.records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')")
	var sum int64
	for _, r := range records {
		n, err := strconv.ParseInt(r["Value"], 10, 64)
		if err != nil {
			return 0, s.fail("read "+r["Variable_name"], err)
		}
		sum += n
	}
	return sum, err
}
