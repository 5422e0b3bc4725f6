package reshape

import (
	"context"
	"fmt"
	"slices"

	"stowage/act"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/sides"
)

// Questions are asked in this order, all of them.
var questions = []act.Question[*work]{
	{Name: "reshape-servers", Look: askServers},
	{Name: "reshape-spec", Look: askSpec},
	{Name: "reshape-routed-by", Look: askRoutedBy},
	{Name: "reshape-privileges", Look: askPrivileges},
	{Name: "reshape-log", Look: askLog},
	{Name: "reshape-room", Look: askRoom},
	{Name: "reshape-triggers", Look: askTriggers},
	{Name: "reshape-statements", Look: askStatements},
	{Name: "reshape-applier", Look: askApplier},
}

// Survey implements act.Work.
func (w *work) Survey(ctx context.Context) ([]farm.Finding, error) { return act.Ask(ctx, questions, w) }

// askServers: every server of the pair answers, for each gets the columns.
func askServers(ctx context.Context, w *work) (found []farm.Finding, err error) {
	for _, s := range w.servers {
		if err := s.Answers(ctx); err != nil {
			found = append(found, sides.Blocker(string(s.Name()), "it does not answer: "+err.Error(), "start it; every server of the pair gets the columns"))
			continue
		}
		closed, err := w.refusesColumns(ctx, s)
		if err != nil {
			return nil, err
		}
		if closed {
			found = append(found, sides.Blocker(string(s.Name()), "super_read_only is ON, and it refuses the columns, also from Stowage's account", "SET GLOBAL super_read_only = OFF there until the run has ended; read_only stays ON and stops the clients"))
		}
	}
	return found, nil
}

// refusesColumns reports whether a replica of MySQL is closed to everybody, and something is still to be made there.
func (w *work) refusesColumns(ctx context.Context, s *mysql.Server) (bool, error) {
	is, err := s.Variables(ctx, "super_read_only")
	if err != nil || is["super_read_only"] != "ON" {
		return false, err
	}
	for _, shard := range w.shards() {
		shape, t, err := w.tables(ctx, s, shard)
		if err != nil {
			return false, err
		}
		if w.wave.Spec.Keep == spec.Applier || len(shape.AddColumns(t)) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// askSpec: the spec fits the tables of every shard, on every server.
func askSpec(ctx context.Context, w *work) (found []farm.Finding, err error) {
	for n, server := range w.servers {
		for _, shard := range w.shards() {
			shape, t, err := w.tables(ctx, server, shard)
			if err != nil {
				return nil, err
			}
			problems := shape.Check(t)
			if !slices.ContainsFunc(problems, func(p spec.Problem) bool { return !p.Slow }) {
				if err := shape.Understood(ctx, server, shard); err != nil {
					problems = append(problems, spec.Problem{Line: w.wave.Spec.Line("child.counts"), Text: err.Error()})
				}
				if _, err := shape.Keys(ctx, server, shard); n == 0 && err != nil { // stowage due could not compare what is written, nor an applier apply it
					problems = append(problems, spec.Problem{Line: w.wave.Spec.Line("child"), Text: "its changes cannot be read out of the binary log: " + err.Error()})
				}
			}
			for _, p := range problems {
				f := sides.Blocker(fmt.Sprintf("%s:%d", w.wave.Spec.File, p.Line), fmt.Sprintf("shard %s: %s", shard, p.Text), "correct the spec, or the table")
				if p.Slow {
					f.Severity = farm.Warning
				}
				if n == 0 || !slices.ContainsFunc(found, func(o farm.Finding) bool { return o.Subject == f.Subject && o.Text == f.Text }) {
					found = append(found, f)
				}
			}
			if n > 0 || len(problems) > 0 {
				continue
			}
			other, err := w.otherSpec(ctx, server, shard, shape, t)
			if err != nil {
				return nil, err
			}
			found = append(found, other...)
		}
	}
	return found, nil
}

// askRoutedBy: rows are written where a tenant is served. On the other side of an active-active pair the whole image of a row would come back over what a client has written.
func askRoutedBy(_ context.Context, w *work) ([]farm.Finding, error) {
	if w.pair.Topology != farm.ActiveActive || w.wave.Spec.Tenant.RoutedBy != "" {
		return nil, nil
	}
	return []farm.Finding{sides.Blocker(fmt.Sprintf("%s:%d", w.wave.Spec.File, w.wave.Spec.Line("tenant.routed_by")), "pair "+string(w.pair.Name)+" is active-active, and the spec does not say by which key a tenant's clients are routed",
		`routed_by: "{tenant}" under tenant, or what your clients use: docs/reference/routing.md`)}, nil
}

// askPrivileges: the account may change tables, rows and triggers.
func askPrivileges(ctx context.Context, w *work) (found []farm.Finding, err error) {
	need := []string{"SELECT", "UPDATE", "ALTER", "INDEX", "CREATE", "INSERT"}
	if w.wave.Spec.Keep == spec.Triggers {
		need = append(need, "TRIGGER")
	}
	if w.wave.Spec.Keep == spec.Applier {
		need = append(need, "DROP", "REPLICATION SLAVE")
	}
	for _, s := range w.servers {
		lacking, err := s.LackingOf(ctx, need...)
		if err != nil {
			return nil, err
		}
		if !lacking.IsNone() {
			found = append(found, sides.Blocker(string(s.Name()), lacking.Text(), lacking.Remedy()))
		}
	}
	return found, nil
}

// askLog: what triggers write reaches the other servers as rows; and an applier reads rows as they are.
func askLog(ctx context.Context, w *work) (found []farm.Finding, err error) {
	for _, s := range w.servers {
		is, err := s.Variables(ctx, "binlog_format", "binlog_row_image", "binlog_row_value_options", "slave_run_triggers_for_rbr")
		if err != nil {
			return nil, err
		}
		if is["binlog_format"] != "ROW" {
			found = append(found, sides.Blocker(string(s.Name()), "binlog_format is "+is["binlog_format"]+", must be ROW", "SET GLOBAL binlog_format = ROW, and in its option file; sessions keep the old one until they end"))
		}
		if v := is["binlog_row_image"]; v != "FULL" && w.wave.Spec.Keep == spec.Applier {
			found = append(found, sides.Blocker(string(s.Name()), "binlog_row_image is "+v+", must be FULL: without it the applier cannot tell whose children changed", "SET GLOBAL binlog_row_image = FULL, and in its option file; sessions keep the old one until they end"))
		}
		if v := is["binlog_row_value_options"]; v != "" {
			found = append(found, sides.Blocker(string(s.Name()), "binlog_row_value_options is "+v+", must be empty: updates of JSON that are logged in parts cannot be read", "SET GLOBAL binlog_row_value_options = '', and in its option file; sessions keep the old one until they end"))
		}
		if v := is["slave_run_triggers_for_rbr"]; v != "" && v != "NO" && w.wave.Spec.Keep == spec.Triggers {
			found = append(found, sides.Blocker(string(s.Name()), "slave_run_triggers_for_rbr is "+v+": triggers would write again what has come by replication", "SET GLOBAL slave_run_triggers_for_rbr = NO, and in its option file"))
		}
	}
	return found, nil
}

// askTriggers: a trigger runs with the rights of who made it.
func askTriggers(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.wave.Spec.Keep != spec.Triggers {
		return nil, nil
	}
	for _, shard := range w.shards() {
		there, err := latest.ThereTriggers(ctx, w.servers[0], shard)
		if err != nil {
			return nil, err
		}
		if len(there) > 0 {
			return nil, nil // a wave before this one has said it
		}
	}
	f := sides.Blocker(string(w.pair.Name), "the triggers run with the rights of the [stowage] account: without that account, client writes to "+w.wave.Spec.Child.Table+" fail", "keep the account while the triggers exist")
	f.Severity = farm.Warning
	return append(found, f), nil
}

// askStatements: a statement that writes children and names parents fails once there are triggers (error 1442). One that replaces a parent deletes its children, where
// a foreign key says so, when the trigger has read them already.
func askStatements(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.wave.Spec.Keep != spec.Triggers {
		return nil, nil
	}
	for _, s := range w.servers {
		texts, known, err := s.WritesNaming(ctx, w.wave.Spec.Child.Table, w.wave.Spec.Parent.Table)
		if err != nil {
			return nil, err
		}
		if !known {
			f := sides.Blocker(string(s.Name()), fmt.Sprintf("performance_schema is off, so statements that write %s and also name %s cannot be found: with the triggers they fail, error 1442", w.wave.Spec.Child.Table, w.wave.Spec.Parent.Table),
				"look for one in the application or in a digest of its slow log; keep: application needs no triggers")
			f.Severity = farm.Warning
			found = append(found, f)
		}
		for _, text := range texts {
			found = append(found, sides.Blocker(string(s.Name()), "clients send a statement that writes "+w.wave.Spec.Child.Table+" and names "+w.wave.Spec.Parent.Table+", which fails with the triggers (error 1442): "+text,
				"write it as two statements in one transaction, or keep: application"))
		}
	}
	replaced, err := askReplaced(ctx, w)
	return append(found, replaced...), err
}

func askReplaced(ctx context.Context, w *work) (found []farm.Finding, err error) {
	parent, along := w.wave.Spec.Parent.Table, false
	for _, shard := range w.shards() {
		shape, t, err := w.tables(ctx, w.servers[0], shard)
		if err != nil {
			return nil, err
		}
		along = along || shape.GoesAlong(t)
	}
	if !along {
		return nil, nil
	}
	for _, s := range w.servers {
		texts, err := s.Replaces(ctx, parent)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			found = append(found, sides.Blocker(string(s.Name()), "clients replace rows of "+parent+", which deletes children that the new row would carry: "+text,
				"write INSERT ... ON DUPLICATE KEY UPDATE, or keep: application"))
		}
	}
	return found, nil
}

// askApplier: rows that are filled in are kept from then on, so the applier comes first.
func askApplier(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.wave.Spec.Keep != spec.Applier || len(w.members()) == 0 {
		return nil, nil
	}
	lags, err := w.act.Lags(ctx, w.wave.Spec)
	for _, l := range lags {
		if !l.IsGood && slices.Contains(w.shards(), l.Shard) {
			found = append(found, sides.Blocker(string(l.Shard), "the applier does not keep its columns: "+l.String(), "stowage reshape "+w.wave.Spec.Name+" --prepare, then let this run all the time: stowage reshape apply "+w.wave.Spec.Name))
		}
	}
	return found, err
}
