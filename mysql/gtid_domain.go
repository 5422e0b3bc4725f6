package mysql

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// What takes a server out of a GTID domain that others write too. MariaDB only. Measured on 10.11.19: every SET GLOBAL here
// takes effect on a running server; slave_parallel_threads and gtid_ignore_duplicates ask only that no SQL thread runs. A
// session keeps the domain it was opened with. A replica notes the GTIDs that it applied, and its own that come home round
// the ring, in gtid_slave_pos also while it replicates by file and position.

// DomainFacts is what a server has to do with GTID domains.
type DomainFacts struct {
	ServerID    uint32
	Domain      uint32
	Strict      bool // gtid_strict_mode
	Ignores     bool // gtid_ignore_duplicates
	Threads     int  // slave_parallel_threads
	ReadOnly    bool
	LogBin      bool
	PassesOn    bool // log_slave_updates
	Replication Replication
	Binlog      Position
	Applied     Position
	// Written are the GTIDs that stand last in the binary log, one of each domain and server.
	Written []GTID
}

var domainVariables = []string{"server_id", "gtid_domain_id", "gtid_strict_mode", "gtid_ignore_duplicates", "slave_parallel_threads", "read_only",
	"log_bin", "log_slave_updates"}

// Domains reads them.
func (s *Server) Domains(ctx context.Context) (DomainFacts, error) {
	var f DomainFacts
	is, err := s.Variables(ctx, domainVariables...)
	if err != nil {
		return f, err
	}
	f.ServerID, f.Domain = number(is["server_id"]), number(is["gtid_domain_id"])
	f.Strict, f.Ignores, f.ReadOnly = is["gtid_strict_mode"] == "ON", is["gtid_ignore_duplicates"] == "ON", is["read_only"] != "OFF"
	f.LogBin, f.PassesOn = is["log_bin"] == "ON", is["log_slave_updates"] == "ON"
	f.Threads = int(number(is["slave_parallel_threads"]))
	if f.Replication, err = s.Replication(ctx); err != nil {
		return f, err
	}
	// What it has applied first: it then has not applied less than this of what its binary log shows.
	if f.Applied, err = s.AppliedPosition(ctx); err != nil {
		return f, err
	}
	if f.Binlog, err = s.BinlogPosition(ctx); err != nil {
		return f, err
	}
	var text string
	if err := s.row(ctx, "SELECT @@GLOBAL.gtid_binlog_state", nil, &text); err != nil {
		return f, err
	}
	f.Written, err = parseGTIDs(text)
	return f, s.fail("read gtid_binlog_state", err)
}

// Own is the last sequence number that the server itself has written in a domain, as its binary log has it; 0 for none.
func (f DomainFacts) Own(domain uint32) uint64 {
	for _, g := range f.Written {
		if g.Domain == domain && g.Server == f.ServerID {
			return g.Seq
		}
	}
	return 0
}

// SetDomain gives the sessions that begin from now on another GTID domain, and returns a session number below which
// sessions may still have the one before.
func (s *Server) SetDomain(ctx context.Context, domain uint32) (before uint64, err error) {
	if err := s.exec(ctx, fmt.Sprintf("SET GLOBAL gtid_domain_id = %d", domain)); err != nil {
		return 0, err
	}
	// A session gets its number before it takes over global values. One that is opened now has a higher number than every
	// session that has taken them over already. A connection from the pool would be too old.
	conn := Open(s.name, s.address, s.account, s.log)
	defer conn.Close()
	err = conn.row(ctx, "SELECT CONNECTION_ID()", nil, &before)
	return before, err
}

// OldSession is a client's connection that was opened before something changed.
type OldSession struct {
	ID       uint64 `json:"id"`
	User     string `json:"user"`
	From     string `json:"from"` // host, or host:port
	Database string `json:"database,omitempty"`
}

func (c OldSession) String() string {
	return fmt.Sprintf("%s from %s (session %d)", c.User, c.From, c.ID)
}

// SessionsBefore are the clients' sessions that are older than a session number, oldest first. Ours and those of
// replication write nothing of their own. A server that was started again since has none.
func (s *Server) SessionsBefore(ctx context.Context, before uint64) ([]OldSession, error) {
	fresh := Open(s.name, s.address, s.account, s.log)
	defer fresh.Close()
	var own uint64
	if err := fresh.row(ctx, "SELECT CONNECTION_ID()", nil, &own); err != nil || own < before {
		return nil, err // it counts from 1 again
	}
	records, err := fresh.records(ctx, `SELECT ID AS id, USER AS user, HOST AS host, COALESCE(DB, '') AS db FROM information_schema.PROCESSLIST
		WHERE ID < ? AND USER NOT IN ('system user', 'event_scheduler', ?) AND COMMAND NOT IN ('Binlog Dump', 'Daemon', 'Slave_IO', 'Slave_SQL', 'Slave_worker')
		ORDER BY ID`, before, s.account.User)
	if err != nil {
		return nil, err
	}
	var out []OldSession
	for _, r := range records {
		c := OldSession{User: r["user"], From: r["host"], Database: r["db"]}
		c.ID, _ = strconv.ParseUint(r["id"], 10, 64)
		out = append(out, c)
	}
	return out, nil
}

// Seal writes one transaction that changes nothing as the last of a domain, with this sequence number. The binary log then
// ends that domain at the same GTID on every server that has it.
func (s *Server) Seal(ctx context.Context, domain uint32, seq uint64) error {
	// A session of its own: it ends with the domain it was given. FLUSH HOSTS forgets who connected from where, and is
	// written to the binary log; measured, MariaDB 10.11.19. It needs RELOAD.
	one := Open(s.name, s.address, s.account, s.log)
	defer one.Close()
	return one.alone(ctx, "stowage.seal", fmt.Sprintf("SET SESSION gtid_domain_id = %d", domain), fmt.Sprintf("SET SESSION gtid_seq_no = %d", seq), "FLUSH HOSTS")
}

// SetApplier sets how many transactions a replica applies at once. It pauses for that. Both of its threads: a SQL thread
// alone, started by GTID with fewer threads, applies again what several had applied ahead (measured, MariaDB 10.11.19:
// error 1062); when both stop, the relay log is fetched anew from gtid_slave_pos.
func (s *Server) SetApplier(ctx context.Context, threads int) error {
	r, err := s.Replication(ctx)
	if err != nil {
		return err
	}
	if r.Configured {
		if err := s.exec(ctx, "STOP SLAVE"); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, fmt.Sprintf("SET GLOBAL slave_parallel_threads = %d", threads)); err != nil || !r.Configured {
		return err
	}
	return s.exec(ctx, "START SLAVE")
}

// SetStrict sets gtid_strict_mode.
func (s *Server) SetStrict(ctx context.Context, on bool) error {
	return s.exec(ctx, "SET GLOBAL gtid_strict_mode = "+onOff(on))
}

func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}

// Applier is how a replica takes what it is sent.
type Applier struct {
	Ignores bool   // gtid_ignore_duplicates
	Threads int    // slave_parallel_threads
	Using   string // as SHOW SLAVE STATUS says: Slave_Pos, Current_Pos, No
}

// SetApplying stops the replica, gives it other ways, and starts it again, where it has them not yet. From GTIDs back to
// file and position it goes on where its SQL thread stands, and so it must apply one transaction after the other
// meanwhile. When the new ways do not take, the old ones are put back, and the replica runs by them.
func (s *Server) SetApplying(ctx context.Context, want Applier, budget time.Duration) error {
	now, err := s.Domains(ctx)
	if err != nil {
		return err
	}
	r := now.Replication
	has := Applier{now.Ignores, now.Threads, r.UsingGTID}
	if !r.Configured {
		want.Using = has.Using
	}
	if has == want && (!r.Configured || r.Running()) {
		return nil
	}
	err = s.setApplying(ctx, has, want, r.Configured)
	if err == nil && r.Configured {
		err = s.AwaitReplicating(ctx, budget)
	}
	if err == nil || has == want || ctx.Err() != nil {
		return err
	}
	if back := s.setApplying(ctx, want, has, r.Configured); back != nil {
		return fmt.Errorf("%w; and it could not be put back: %w", err, back)
	}
	return err
}

func (s *Server) setApplying(ctx context.Context, has, want Applier, replicates bool) error {
	var statements []string
	if replicates {
		statements = append(statements, "STOP SLAVE")
	}
	if has.Ignores != want.Ignores {
		statements = append(statements, "SET GLOBAL gtid_ignore_duplicates = "+onOff(want.Ignores))
	}
	if has.Threads != want.Threads {
		statements = append(statements, fmt.Sprintf("SET GLOBAL slave_parallel_threads = %d", want.Threads))
	}
	for _, st := range statements {
		if err := s.exec(ctx, st); err != nil {
			return err
		}
	}
	if !replicates {
		return nil
	}
	if has.Using != want.Using {
		if err := s.changeUsing(ctx, want.Using); err != nil {
			return err
		}
	}
	return s.exec(ctx, "START SLAVE")
}

// changeUsing says by what a stopped replica goes on.
func (s *Server) changeUsing(ctx context.Context, using string) error {
	if using != "No" {
		return s.exec(ctx, "CHANGE MASTER TO MASTER_USE_GTID = "+using)
	}
	records, err := s.records(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return err
	}
	if len(records) != 1 || records[0]["Relay_Master_Log_File"] == "" {
		return s.fail("CHANGE MASTER", fmt.Errorf("the server does not say where in its source's binary log it stands"))
	}
	at := records[0]
	return s.exec(ctx, fmt.Sprintf("CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = %s, MASTER_LOG_POS = %s",
		quote(at["Relay_Master_Log_File"]), at["Exec_Master_Log_Pos"]))
}
