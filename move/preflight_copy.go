package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// askPrivileges asks whether Stowage's own account may do what it will have to do, and see what it asks for.
func askPrivileges(ctx context.Context, p peer, besides ...string) ([]farm.Finding, error) {
	lacking, err := p.server.Lacking(ctx, besides...)
	if err != nil || lacking.IsNone() {
		return nil, err
	}
	f := blocker(p.name, lacking.Text(), lacking.Remedy())
	if !slices.ContainsFunc(lacking.Privileges, func(name string) bool { return !slices.Contains(onlyToSee, name) }) {
		f.Severity = farm.Warning
	}
	return []farm.Finding{f}, nil
}

// onlyToSee are privileges without which things go unseen and everything else works.
var onlyToSee = []string{"TRIGGER", "SHOW VIEW", "SET USER", "SET_ANY_DEFINER", "CREATE USER"}

// askCascades names the foreign keys by which rows change without an event. How bad that is depends on who carries the
// rows: replication of the whole server repeats it on a copy with the same keys, a copier by rows loses it.
func askCascades(ctx context.Context, p peer, severity farm.Severity) ([]farm.Finding, error) {
	names, err := p.server.Cascades(ctx, p.facts.Flavor)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return naming(farm.Finding{Severity: severity, Subject: p.name, Text: fmt.Sprintf("%d foreign keys change rows that no binary log shows: %s", len(names), farm.Some(names)),
		Remedy: "replicas do it again, so both servers need the same keys and foreign_key_checks=1; checksums cover these rows"}, names), nil
}

// askVersioned refuses tables whose history is kept by transaction number. What INSERT ... SELECT writes into them never
// comes to a replica, and nothing says so: 30 rows written, none there (MariaDB 10.11.19, whatever the mode of the applier;
// rows of a plain INSERT and of UPDATE arrive).
func askVersioned(ctx context.Context, p peer) ([]farm.Finding, error) {
	names, err := p.server.TransactionVersioned(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return naming(blocker(p.name, fmt.Sprintf("%s keep their history by transaction numbers: %s", farm.Counted(len(names), "table"), farm.Some(names)),
		"replication loses their rows silently: make the ROW START and ROW END columns TIMESTAMP(6)"), names), nil
}

// askDefiners: an object whose definer does not exist on the target fails with error 1449 when it is used. accounts are
// the logins of the server that the object will live on.
func askDefiners(ctx context.Context, p peer, accounts []mysql.Login) ([]farm.Finding, error) {
	objects, err := p.server.Definers(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []string
	for _, d := range objects {
		known := func(l mysql.Login) bool {
			return l.String() == d.Account || l.Host == "" && (l.User == d.Account || l.User+"@" == d.Account)
		}
		if !slices.ContainsFunc(accounts, known) {
			orphans = append(orphans, d.String())
		}
	}
	if len(orphans) == 0 {
		return nil, nil
	}
	return naming(warning(p.name, fmt.Sprintf("%d objects belong to accounts that will not be there: %s", len(orphans), farm.Some(orphans)),
		"create the accounts (locked, if no one is to log in) or redefine the objects; using them fails with error 1449"), orphans), nil
}

// askTriggers: row events hold what triggers did already. A replica that runs them again does it twice.
func askTriggers(ctx context.Context, p peer) ([]farm.Finding, error) {
	names, err := p.server.Triggers(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if v := p.is("slave_run_triggers_for_rbr"); v != "" && v != "NO" {
		return naming(blocker(p.name, fmt.Sprintf("slave_run_triggers_for_rbr is %s and there are %s: %s", v, farm.Counted(len(names), "trigger"), farm.Some(names)),
			"SET GLOBAL slave_run_triggers_for_rbr=NO on every server: what they write is in the row events already and is applied twice"), names), nil
	}
	return naming(remark(p.name, fmt.Sprintf("%d triggers come along: %s", len(names), farm.Some(names)), "nothing to do; replicas do not run them for row events"), names), nil
}

// askReplicationAccount asks whether a new server at address from could replicate from source: password, privilege,
// host pattern. Names are not resolved: an account for host names is only told of.
func askReplicationAccount(ctx context.Context, source peer, as mysql.Account, from string) ([]farm.Finding, error) {
	if err := mysql.ReplicaAccountWorks(ctx, source.server.Address(), as, source.server); err != nil {
		return []farm.Finding{blocker(source.name, fmt.Sprintf("the replication account %s cannot log in: %v", as.User, errors.Unwrap(err)), farm.Hint(err))}, nil
	}
	logins, err := source.server.Logins(ctx)
	if err != nil {
		return nil, err
	}
	var own []mysql.Login
	for _, l := range logins {
		if l.User == as.User && l.Host != "" {
			own = append(own, l)
		}
	}
	fits := slices.IndexFunc(own, func(l mysql.Login) bool { return mysql.HostMatches(l.Host, from) })
	grant := fmt.Sprintf("GRANT REPLICATION SLAVE ON *.* TO %s@'%s', with the password of the others", as.User, from)
	switch {
	case fits < 0:
		return []farm.Finding{blocker(source.name, fmt.Sprintf("none of the accounts of %s (%s) admits the new address %s", as.User, hosts(own), from), grant)}, nil
	case !slices.ContainsFunc(own, func(l mysql.Login) bool { return l.Replicates && mysql.HostMatches(l.Host, from) }):
		return []farm.Finding{blocker(source.name, fmt.Sprintf("%s may not replicate", own[fits]), "GRANT REPLICATION SLAVE ON *.* TO "+own[fits].String())}, nil
	}
	return nil, nil
}

func hosts(logins []mysql.Login) string {
	var out []string
	for _, l := range logins {
		out = append(out, "'"+l.Host+"'")
	}
	if len(out) == 0 {
		return "there is none"
	}
	return farm.Some(out)
}

// askAccounts names accounts that admit the address a server leaves and not the one it goes to.
func askAccounts(ctx context.Context, p peer, was, is string) ([]farm.Finding, error) {
	if was == is {
		return nil, nil
	}
	logins, err := p.server.Logins(ctx)
	if err != nil {
		return nil, err
	}
	admits := map[string]bool{}
	for _, l := range logins {
		if l.Host != "" && mysql.HostMatches(l.Host, is) {
			admits[l.User] = true
		}
	}
	var lost []string
	for _, l := range logins {
		if local := l.Host == "localhost" || l.Host == "127.0.0.1" || l.Host == "::1" || l.Host == ""; local {
			continue
		}
		if mysql.HostMatches(l.Host, was) && !admits[l.User] {
			lost = append(lost, l.String())
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	return naming(warning(p.name, fmt.Sprintf("accounts admit the old address %s and not the new one %s: %s", was, is, farm.Some(lost)),
		"create them for the new address too, if programs on that host log in with them"), lost), nil
}

// askOpenFiles asks whether one server can hold open what two hold now.
func askOpenFiles(ctx context.Context, takes, gives peer) ([]farm.Finding, error) {
	t1, f1, err := takes.server.OpenTables(ctx)
	if err != nil {
		return nil, err
	}
	t2, f2, err := gives.server.OpenTables(ctx)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	// The two sides hold the same tables: together they are between the larger and the sum. A cache too small is slow; files too few are errors.
	if limit, err := strconv.Atoi(takes.is("open_files_limit")); err == nil && limit > 0 && (f1+f2)*10 > limit*9 {
		out = append(out, warning(takes.name, fmt.Sprintf("it holds %s open and must take the clients of %s, which holds %d; open_files_limit is %d", farm.Counted(f1, "file"), gives.name, f2, limit),
			"raise open_files_limit (and LimitNOFILE of the unit); beyond it statements fail with error 24"))
	}
	if limit, err := strconv.Atoi(takes.is("table_open_cache")); err == nil && limit > 0 && t1+t2 > limit && max(t1, t2)*10 > limit*9 {
		out = append(out, warning(takes.name, fmt.Sprintf("%d and %d tables are open, table_open_cache is %d", t1, t2, limit), "raise table_open_cache: tables would be opened and closed all the time"))
	}
	return out, nil
}

// Time that a copy takes, when nothing better is known: half of what a gigabit carries, and ten minutes for what comes
// before and after. (A local copy made 287 to 381 MB/s with everything, 1.9 GB, two cores.)
const (
	copyRate  = 50 << 20
	copyExtra = 10 * time.Minute
)

func copyTime(bytes int64, planned time.Duration) time.Duration {
	return max(time.Duration(float64(bytes)/copyRate*float64(time.Second)), planned) + copyExtra
}

// askRetention: a copy that has been made asks for what was written meanwhile. Once the source has purged that, error 1236
// answers it, and the copy was for nothing.
func askRetention(source peer, bytes int64, planned time.Duration) []farm.Finding {
	kept, needed := source.facts.Retention(), copyTime(bytes, planned)
	if kept == 0 {
		return nil
	}
	f := warning(source.name, fmt.Sprintf("it keeps binary logs for %v; the copy and what comes with it are estimated at %v", kept, needed.Round(time.Minute)),
		"SET GLOBAL binlog_expire_logs_seconds to several times that, for the time of the move")
	switch {
	case kept < needed:
		f.Severity = farm.Blocker
	case kept > 4*needed:
		return nil
	}
	return []farm.Finding{f}
}

// askSpace asks for room at the target: for the data, for the redo log, for as many binary logs as the source keeps, and
// a quarter of the data for what is written meanwhile.
func askSpace(ctx context.Context, source peer, h host.Host, hostName farm.HostName, dir string) ([]farm.Finding, error) {
	data, err := source.server.DataBytes(ctx, source.facts.Flavor)
	if err != nil {
		return nil, err
	}
	logs, err := source.server.BinlogBytes(ctx)
	if err != nil {
		return nil, err
	}
	redo, _ := strconv.ParseInt(source.is("innodb_log_file_size"), 10, 64)
	const emptyServer = 64 << 20
	need := data + logs + redo + emptyServer
	free, err := h.FreeBytes(ctx, dir)
	if err != nil || free >= need+data/4 {
		return nil, err
	}
	f := blocker(string(hostName), fmt.Sprintf("%d MB are free; the copy needs %d (data %d, binary logs %d, redo log %d) and something to grow", free>>20, need>>20, data>>20, logs>>20, redo>>20),
		"free disk space on the target")
	if free >= need {
		f.Severity = farm.Warning
	}
	return []farm.Finding{f}, nil
}
