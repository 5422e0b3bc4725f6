package swing

import (
	"context"
	"fmt"
	"slices"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// CatchUp waits until each side has what the other had written when it began.
func (s *Swing) CatchUp(ctx context.Context) error {
	if err := s.await(ctx, s.Twin, s.Returns); err != nil {
		return err
	}
	if err := s.rejoin(ctx); err != nil {
		return err
	}
	for _, way := range [][2]*mysql.Server{{s.Twin, s.Returns}, {s.Returns, s.Twin}} {
		goal, err := way[0].BinlogPosition(ctx)
		if err != nil {
			return err
		}
		if err := way[1].WaitFor(ctx, goal, s.Settings.CatchUp); err != nil {
			return err
		}
	}
	return nil
}

func (s *Swing) rejoin(ctx context.Context) error {
	if s.Rejoin == nil {
		return nil
	}
	return s.Rejoin(ctx)
}

// Compared are the variables that must be equal on Leaves and Returns: a new
// instance whose option file says otherwise is refused.
func Compared() []string { return slices.Clone(compared) }

var compared = []string{
	"version", "gtid_domain_id", "gtid_strict_mode", "gtid_ignore_duplicates", "log_bin", "log_slave_updates",
	"binlog_format", "binlog_row_image", "sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_page_size",
	"auto_increment_increment", "auto_increment_offset", "time_zone", "character_set_server", "collation_server",
	"lower_case_table_names", "sql_mode", "max_connections",
}

// Check reads back that the returning side is what it must be before a client
// sees it. Rows were compared by the act, where it replaced the side.
func (s *Swing) Check(ctx context.Context) error {
	if err := s.rejoin(ctx); err != nil {
		return err
	}
	if err := s.checkReplication(ctx, s.Returns, s.Twin); err != nil {
		return err
	}
	if err := s.checkReplication(ctx, s.Twin, s.Returns); err != nil {
		return err
	}
	if err := s.CheckVariables(ctx); err != nil {
		return err
	}
	if err := s.CheckStrays(ctx); err != nil {
		return err
	}
	return s.checkTables(ctx)
}

// CheckStrays makes sure that nobody has written on the side after it left. A
// fence does not stop an account with SUPER or READ ONLY ADMIN, and once the
// twin follows the side's successor nobody reads such a write there.
func (s *Swing) CheckStrays(ctx context.Context) error {
	if s.isInPlace() {
		return nil // its binary log is what the twin follows: a write there is on both
	}
	return s.strays(ctx, "")
}

// strays refuses what a client wrote on the side alone. What was there before it left is known.
func (s *Swing) strays(ctx context.Context, known string) error {
	strays, err := s.Leaves.Strays(ctx, s.Twin)
	if err != nil || strays == known {
		return err
	}
	return &farm.Error{Op: "check", Subject: string(s.Leaves.Name()),
		Err:  fmt.Errorf("%w: a client wrote on it after its clients had left: %s", farm.ErrRefused, strays),
		Hint: "an account with SUPER or READ ONLY ADMIN bypasses read_only; stop that writer, and see docs/reference/failures.md"}
}

// CheckVariables compares what must not differ between Leaves and Returns, or
// in place between the side and its Baseline. An act that replaces the side asks
// before the side leaves, too.
func (s *Swing) CheckVariables(ctx context.Context) error {
	if s.isInPlace() {
		return s.checkBaseline(ctx)
	}
	was, err := s.Leaves.Variables(ctx, compared...)
	if err != nil {
		return err
	}
	is, err := s.Returns.Variables(ctx, compared...)
	if err != nil {
		return err
	}
	for _, name := range compared {
		if was[name] != is[name] && !slices.Contains(s.MayDiffer, name) {
			return &farm.Error{Op: "check", Subject: string(s.Returns.Name()),
				Err:  fmt.Errorf("%w: %s is %q, was %q on the side it returns for", farm.ErrRefused, name, is[name], was[name]),
				Hint: "make the running value and the option file of the old side agree; the new one starts from the file"}
		}
	}
	return nil
}

func (s *Swing) checkReplication(ctx context.Context, replica, source *mysql.Server) error {
	r, err := replica.Replication(ctx)
	if err != nil {
		return err
	}
	if err := r.Broken(); err != nil {
		return &farm.Error{Op: "check", Subject: string(replica.Name()), Err: err}
	}
	if !r.Follows(source.Address()) {
		return &farm.Error{Op: "check", Subject: string(replica.Name()),
			Err: fmt.Errorf("%w: it replicates from %s:%d, not from %s", farm.ErrRefused, r.Host, r.Port, source.Address())}
	}
	return nil
}

// checkTables compares the definitions of all tables, but for those that the
// act says may differ.
func (s *Swing) checkTables(ctx context.Context) error {
	differ, err := rows.CompareDefinitions(ctx, s.Twin, s.Returns)
	if err != nil {
		return err
	}
	differ = slices.DeleteFunc(differ, func(m rows.Mismatch) bool { return slices.Contains(s.TablesMayDiffer, m.Table) })
	if len(differ) > 0 {
		return &farm.Error{Op: "check", Subject: string(s.Returns.Name()),
			Err: fmt.Errorf("%w: %d tables differ from the twin's, the first: %s", farm.ErrRefused, len(differ), differ[0])}
	}
	return nil
}
