package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
)

// Replication is what a server says about itself as a replica.
type Replication struct {
	Configured bool
	Sources    int    // how many connections; more than one is multi-source
	Host       string // of the default connection's source
	Port       int
	IO, SQL    string // Yes, No, Connecting, Preparing
	SourceLog  string // file of the source's binary log; empty until the source has sent something
	Filters    string // replication filters in force, "" for none
	IOError    string
	IOCode     int // of IOError; 0: none
	SQLError   string
	UsingGTID  string // Slave_Pos, Current_Pos, No; of MySQL Slave_Pos for auto-position
	Received   string // by GTID: the position up to which its receiver has fetched, applied or not; of MySQL what it has fetched since its relay log begins
	SourceUUID string // MySQL: of the source that it has reached last
	Behind     time.Duration
	BehindOK   bool // Behind is known
}

// Running reports whether both threads run and the source feeds them. The IO
// thread says Yes as soon as it is logged in, a moment before the source looks
// for the position it asks for and answers, perhaps, with error 1236.
func (r Replication) Running() bool {
	return r.Configured && r.IO == "Yes" && r.SQL == "Yes" && r.SourceLog != ""
}

// Follows reports whether the server replicates from host:port.
func (r Replication) Follows(address string) bool {
	return r.Configured && net.JoinHostPort(r.Host, strconv.Itoa(r.Port)) == address
}

// Broken is the reason replication will not go on by itself, or nil. An IO
// thread that is connecting may still succeed; one that stopped will not: 1236
// for example is never retried.
func (r Replication) Broken() error {
	switch {
	case !r.Configured:
		return errNoReplication
	case r.SQL == "No":
		return fmt.Errorf("SQL thread stopped: %s", orUnknown(r.SQLError))
	case r.IO == "No":
		return fmt.Errorf("IO thread stopped: %s", orUnknown(r.IOError))
	}
	return nil
}

// Ailing is Broken, or that the source answers and does not let the IO thread in. That is no reason to give up what has begun: a server that just starts knows no accounts for a moment. It is one to begin nothing.
func (r Replication) Ailing() error {
	if err := r.Broken(); err != nil || r.IO != "Connecting" || mayConnect(r.IOCode) {
		return err
	}
	return fmt.Errorf("IO thread is not let in: %s", r.IOError)
}

// Unconnected is why the IO thread has no connection just now, "" where it has one or has not tried. It tries again.
func (r Replication) Unconnected() string {
	if r.IO != "Connecting" {
		return ""
	}
	return r.IOError
}

// mayConnect reports whether an error of connecting may pass by itself: the source is down, starts, is full, or the network is cut.
func mayConnect(code int) bool {
	switch code {
	case 0, 1040, 1203, 1226, // none; too many connections, of all and of one account
		1053, 1158, 1159, 1160, 1161, // shut down, reading or writing packets
		2002, 2003, 2005, 2006, 2012, 2013, 2055: // not reached, not found, lost
		return true
	}
	return false
}

// Idle reports whether replication stands still for no reason that the server
// gives: it was stopped, or the server was started and not told to go on.
func (r Replication) Idle() bool {
	return r.Configured && r.SQL == "No" && r.IO == "No" && r.SQLError == "" && r.IOError == ""
}

func orUnknown(s string) string {
	if s == "" {
		return "no error given (stopped by hand?)"
	}
	return s
}

// Replication reads the server's state as a replica.
func (s *Server) Replication(ctx context.Context) (Replication, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return Replication{}, err
	}
	records, err := s.records(ctx, d.status)
	if err != nil {
		return Replication{}, err
	}
	r := Replication{Sources: len(records)}
	for _, rec := range records {
		d.translate(rec)
		if rec["Connection_name"] != "" && len(records) > 1 {
			continue
		}
		r.Configured = true
		r.Host = rec["Master_Host"]
		r.Port, _ = strconv.Atoi(rec["Master_Port"])
		r.IO, r.SQL, r.SourceLog = rec["Slave_IO_Running"], rec["Slave_SQL_Running"], rec["Master_Log_File"]
		r.IOError, r.SQLError = rec["Last_IO_Error"], rec["Last_SQL_Error"]
		r.IOCode, _ = strconv.Atoi(rec["Last_IO_Errno"])
		r.UsingGTID, r.Received, r.SourceUUID = rec["Using_Gtid"], rec["Gtid_IO_Pos"], rec["Source_UUID"]
		r.Filters = filtersOf(rec)
		if sec, ok := rec["Seconds_Behind_Master"]; ok {
			n, err := strconv.Atoi(sec)
			r.Behind, r.BehindOK = time.Duration(n)*time.Second, err == nil
		}
	}
	return r, nil
}

// filtersOf joins the replication filters of one connection. They can be set
// at run time, and a copy of the server would not have them.
func filtersOf(rec map[string]string) string {
	var out []string
	for _, name := range []string{"Replicate_Do_DB", "Replicate_Ignore_DB", "Replicate_Do_Table", "Replicate_Ignore_Table",
		"Replicate_Wild_Do_Table", "Replicate_Wild_Ignore_Table", "Replicate_Do_Domain_Ids", "Replicate_Ignore_Domain_Ids"} {
		if rec[name] != "" {
			out = append(out, name+"="+rec[name])
		}
	}
	return strings.Join(out, " ")
}

// Follow makes the server replicate from source, by GTID, and returns when
// both threads run. If it follows source already and runs, nothing happens.
// A connection that fails for good (error 1236 and the like) is reported at
// once; one that is slow, after budget.
func (s *Server) Follow(ctx context.Context, source string, as Account, budget time.Duration) error {
	now, err := s.Replication(ctx)
	if err != nil {
		return err
	}
	if now.Follows(source) && now.Running() {
		return nil
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if now.Configured {
		if err := s.exec(ctx, d.stop); err != nil {
			return err
		}
	}
	// Also when source is the same: the account may have been corrected, and
	// the server does not tell with which password it tries.
	begin := func() error {
		if err := s.changeSource(ctx, source, as); err != nil {
			return err
		}
		return s.exec(ctx, d.start)
	}
	err = begin()
	if hasLostRelayLog(err) {
		s.log.Warn("the server no longer finds its relay log, and fetches the missing part again", "server", s.name, "error", err)
		if err := s.exec(ctx, d.forget); err != nil {
			return err
		}
		err = begin()
	}
	if err != nil {
		return err
	}
	return s.AwaitReplicating(ctx, budget)
}

// hasLostRelayLog: the server cannot open the relay log at which its replication stood. A kill while START SLAVE or CHANGE
// MASTER makes a new one leaves it so: three in 127 (MariaDB 10.11.19: error 1201, "Could not find target log during relay
// log initialization" in its error log). What it has applied is in a table of its own, mysql.gtid_slave_pos, and not lost
// with that: RESET SLAVE ALL, and it fetches from there.
func hasLostRelayLog(err error) bool {
	return slices.Contains([]uint16{1201, 1871, 1872}, CodeOf(err))
}

func (s *Server) changeSource(ctx context.Context, source string, as Account) error {
	return s.changeSourceOf(ctx, source, as, "")
}

// changeSourceOf is CHANGE MASTER with further clauses.
func (s *Server) changeSourceOf(ctx context.Context, source string, as Account, more string) error {
	host, port, err := net.SplitHostPort(source)
	if err != nil {
		return s.fail("CHANGE MASTER", err)
	}
	// Heartbeats of 2 s let a replica notice a dead source in seconds; the
	// default is half of slave_net_timeout, 30 s.
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if !d.flavor.HasGTIDDomains() {
		return s.changeSourceMySQL(ctx, d, host, port, as.At(source))
	}
	as = as.At(source)
	text := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST=%s, MASTER_PORT=%s, MASTER_USER=%s, MASTER_PASSWORD=%s, "+
		"MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=2",
		quote(host), port, quote(as.User), quote(as.Password)) + as.Source.clauses(d) + more
	s.log.Debug("statement", "server", s.name, "sql", "CHANGE MASTER TO MASTER_HOST="+source+" ...")
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	if _, err := s.db.ExecContext(ctx, text); err != nil {
		return s.fail("CHANGE MASTER", withoutStatement(err))
	}
	return nil
}

// withoutStatement is err without the part of the statement that a server
// quotes in it, which may be the password.
func withoutStatement(err error) error {
	var my *driver.MySQLError
	if errors.As(err, &my) {
		text, _, _ := strings.Cut(my.Message, " near '")
		return &driver.MySQLError{Number: my.Number, SQLState: my.SQLState, Message: text}
	}
	return err
}

// AwaitReplicating waits until both replica threads run.
func (s *Server) AwaitReplicating(ctx context.Context, budget time.Duration) error {
	deadline := time.Now().Add(budget)
	for {
		r, err := s.Replication(ctx)
		if err != nil {
			return err
		}
		if r.Running() {
			return nil
		}
		broken := r.Broken()
		// Just after START SLAVE the threads may not have come up: a stop
		// without an error is believed only at the deadline.
		if broken != nil && (r.IOError != "" && r.IO == "No" || r.SQLError != "") {
			return s.fail("start replication", broken)
		}
		if time.Now().After(deadline) {
			return s.fail("start replication", fmt.Errorf("threads did not come up in %v: IO %s (%s), SQL %s (%s)", budget, r.IO, r.IOError, r.SQL, r.SQLError))
		}
		if err := Sleep(ctx, 3*time.Millisecond); err != nil {
			return s.fail("start replication", err)
		}
	}
}

// StopReplicating stops both threads and keeps the configuration.
func (s *Server) StopReplicating(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	return s.exec(ctx, d.stop)
}

// StopAllReplicating stops the threads of every connection and keeps their configuration. It waits for what they apply just now.
func (s *Server) StopAllReplicating(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	return s.exec(ctx, d.stopAll)
}

// ForgetSource stops replication and forgets where it came from.
func (s *Server) ForgetSource(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if err := s.exec(ctx, d.stopAll); err != nil {
		return err
	}
	return s.exec(ctx, d.forget)
}

// StopAt lets a stopped replica apply exactly up to p and stop there. The
// replica must be stopped and not beyond p.
func (s *Server) StopAt(ctx context.Context, p Position, budget time.Duration) error {
	applied, err := s.AppliedPosition(ctx)
	if err != nil {
		return err
	}
	if applied.Reached(p) && !applied.crosses(p) {
		if !p.Reached(applied) {
			return s.fail("stop replication at "+p.String(), fmt.Errorf("the replica is beyond it, at %s", applied))
		}
		return nil
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if !d.flavor.HasGTIDDomains() {
		return s.stopAtSet(ctx, d, p, budget)
	}
	if err := s.exec(ctx, "START SLAVE UNTIL master_gtid_pos = "+quote(p.String())); err != nil {
		return err
	}
	deadline := time.Now().Add(budget)
	for {
		if applied, err = s.AppliedPosition(ctx); err != nil {
			return err
		}
		r, err := s.Replication(ctx)
		if err != nil {
			return err
		}
		switch {
		case r.SQL == "No" && applied.Equal(p) && !applied.crosses(p):
			return nil
		case r.SQL == "No" && r.SQLError != "", r.IO == "No" && r.IOError != "":
			return s.fail("stop replication at "+p.String(), r.Broken())
		case time.Now().After(deadline):
			return s.fail("stop replication at "+p.String(), fmt.Errorf("%w: applied %s", ErrBehind, applied))
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return s.fail("stop replication at "+p.String(), err)
		}
	}
}

// Sleep waits, or says why ctx has ended first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// ReplicaAccountWorks logs in to source with the replication account, so that
// a wrong password is found before anything is changed.
func ReplicaAccountWorks(ctx context.Context, source string, as Account, s *Server) error {
	as = as.At(source)
	as.TLS, as.PublicKey = s.account.TLS, s.account.PublicKey // as we reach servers: the replica's files are on its host
	probe := Open(s.name, source, as, s.log)
	defer probe.Close()
	if err := probe.Ping(ctx); err != nil {
		return &farm.Error{Op: "log in for replication", Subject: source, Err: err,
			Hint: "check the [replication] group of the accounts file and GRANT REPLICATION SLAVE on the source"}
	}
	return nil
}
