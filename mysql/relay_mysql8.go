package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ForgetReplication makes a server forget whom it replicates from, and removes its relay logs.
func (s *Server) ForgetReplication(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	for _, st := range []string{d.stopAll, d.forget} {
		if err := s.exec(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

// relayStill is for how long an applier may have nothing to do before it is said to have come to the end.
const relayStill = 10 * time.Second

// ApplyRelayLogs has a MySQL server that replicates from nobody apply relay logs that lie in its data directory, from first on, until it has goal; then
// they are removed. What the server has already it leaves out, by its GTIDs. told hears which file the applier is in, and at which offset.
func (s *Server) ApplyRelayLogs(ctx context.Context, first string, goal Position, told func(file string, offset int64)) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	// A source has to have a name, also one that nobody asks.
	for _, st := range []string{
		"CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'archive.invalid', SOURCE_AUTO_POSITION = 0, RELAY_LOG_FILE = " + quote(first) + ", RELAY_LOG_POS = " + strconv.Itoa(firstEvent),
		"START REPLICA SQL_THREAD",
	} {
		if err := s.exec(ctx, st); err != nil {
			return err
		}
	}
	if err := s.awaitRelayed(ctx, d, goal, told); err != nil {
		return err
	}
	return s.ForgetReplication(ctx)
}

func (s *Server) awaitRelayed(ctx context.Context, d dialect, goal Position, told func(string, int64)) error {
	moved, before := time.Now(), ""
	for {
		has, err := s.BinlogPosition(ctx)
		if err != nil || has.Reached(goal) {
			return err
		}
		records, err := s.records(ctx, d.status)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return s.fail("apply relay logs", errors.New("the server does not replicate any more: another session has stopped that"))
		}
		r := records[0]
		if r["Replica_SQL_Running"] == "No" {
			return s.fail("apply relay logs", fmt.Errorf("the applier stopped at %s: %s", has, orUnknown(r["Last_SQL_Error"])))
		}
		offset, _ := strconv.ParseInt(r["Relay_Log_Pos"], 10, 64) // it only informs
		told(r["Relay_Log_File"], offset)
		if now := r["Relay_Log_File"] + r["Relay_Log_Pos"] + has.String(); now != before {
			moved, before = time.Now(), now
		}
		if r["Replica_SQL_Running_State"] == relayRead && time.Since(moved) > relayStill {
			return s.fail("apply relay logs", fmt.Errorf("they end at %s, and not at %s", has, goal))
		}
		if err := Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// relayRead is the state of an applier that has come to the end of the last file (sql/mysqld.cc, stage_replica_has_read_all_relay_log).
const relayRead = "Replica has read all relay log; waiting for more updates"
