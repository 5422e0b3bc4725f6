package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Grantee is an account as GRANT names it.
type Grantee struct {
	User string `json:"user"`
	Host string `json:"host"`
}

func (g Grantee) String() string { return quote(g.User) + "@" + quote(g.Host) }

// Privileged are the accounts that read_only does not stop, by a grant of
// their own or by a role, other than Stowage's own.
type Privileged struct {
	// Bar can be kept out for a while: they are not locked, and not the doors
	// of the server's owner at the console.
	Bar []Grantee
	// Users are the names of all of them, those at the console included: what
	// their sessions do is not stopped by read_only.
	Users []string
}

// Privileged reads them. spare are names that must never be kept out, such as
// replication's.
//
// On MySQL there are none: super_read_only stops every account.
func (s *Server) Privileged(ctx context.Context, spare ...string) (Privileged, error) {
	var out Privileged
	flavor, err := s.Flavor(ctx)
	if err != nil || !flavor.HasGTIDDomains() {
		return out, err
	}
	grants, err := s.records(ctx, flavor.bypassing())
	if err != nil {
		return out, err
	}
	holds := map[string]bool{}
	for _, g := range grants {
		holds[g["who"]] = true
	}
	if err := s.byRoles(ctx, flavor, holds); err != nil {
		return out, err
	}
	accounts, err := s.records(ctx, `SELECT User, Host, COALESCE(JSON_VALUE(Priv, '$.account_locked'), 0) AS locked,
		COALESCE(JSON_VALUE(Priv, '$.is_role'), 0) AS role FROM mysql.global_priv ORDER BY User, Host`)
	if err != nil {
		return out, err
	}
	never := append([]string{s.account.User, "mariadb.sys"}, spare...)
	for _, a := range accounts {
		g := Grantee{a["User"], a["Host"]}
		if truth(a["role"]) || slices.Contains(never, g.User) || !holds["'"+g.User+"'@'"+g.Host+"'"] {
			continue
		}
		if !slices.Contains(out.Users, g.User) {
			out.Users = append(out.Users, g.User)
		}
		console := (g.User == "root" || g.User == "mysql") && g.Host == "localhost"
		if !console && !truth(a["locked"]) {
			out.Bar = append(out.Bar, g)
		}
	}
	return out, nil
}

// bypasses are the privileges of MariaDB that read_only does not stop. SUPER is one of them before 10.11, which took READ ONLY ADMIN
// out of it. The server has written READ ONLY ADMIN with an underscore, too.
func (f Flavor) bypasses() []string {
	all := []string{"READ ONLY ADMIN", "READ_ONLY ADMIN"}
	if f.Major < 10 || f.Major == 10 && f.Minor < 11 {
		all = append(all, "SUPER")
	}
	return all
}

// bypassing asks for the accounts that have one of them themselves.
func (f Flavor) bypassing() string {
	return "SELECT DISTINCT GRANTEE AS who FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('" + strings.Join(f.bypasses(), "', '") + "') ORDER BY 1"
}

// bypassesBy reports whether a line of SHOW GRANTS gives one of them.
func (f Flavor) bypassesBy(grant string) bool {
	list, _, everywhere := strings.Cut(strings.TrimPrefix(grant, "GRANT "), " ON *.* TO ")
	has := func(privilege string) bool {
		return privilege == "ALL PRIVILEGES" || slices.Contains(f.bypasses(), privilege)
	}
	return everywhere && slices.ContainsFunc(strings.Split(list, ", "), has)
}

func truth(text string) bool { return text == "1" || strings.EqualFold(text, "true") }

// byRoles adds the accounts that have it by a role, or by a role of a role.
// What a role may do is in no view, only in SHOW GRANTS.
func (s *Server) byRoles(ctx context.Context, flavor Flavor, holds map[string]bool) error {
	rows, err := s.records(ctx, "SELECT User, Host, Role FROM mysql.roles_mapping")
	if err != nil {
		return err
	}
	does := map[string]bool{} // by role
	for _, r := range rows {
		role := r["Role"]
		if _, known := does[role]; known {
			continue
		}
		grants, err := s.records(ctx, "SHOW GRANTS FOR "+ident(role))
		if err != nil {
			return err
		}
		does[role] = false
		for _, g := range grants {
			for _, text := range g { // one column, named after the role
				does[role] = does[role] || flavor.bypassesBy(text)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for _, r := range rows {
			who := "'" + r["User"] + "'@'" + r["Host"] + "'"
			if !does[r["Role"]] || holds[who] {
				continue
			}
			holds[who], grown = true, true
			if r["Host"] == "" { // a role that has this role
				does[r["User"]] = true
			}
		}
	}
	return nil
}

// Bar locks or unlocks accounts on this server alone: not by the binary log.
// A session that is there already goes on.
func (s *Server) Bar(ctx context.Context, accounts []Grantee, locked bool) error {
	if len(accounts) == 0 {
		return nil
	}
	word := " ACCOUNT UNLOCK"
	if locked {
		word = " ACCOUNT LOCK"
	}
	return s.unlogged(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, a := range accounts {
			s.log.Debug("statement", "server", s.name, "sql", "ALTER USER "+a.String()+word)
			if _, err := conn.ExecContext(ctx, "ALTER USER IF EXISTS "+a.String()+word); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndSessionsOf ends every session of the users, running events of theirs
// included, and waits until they are gone. A session in the middle of a commit
// may outlive the budget: that is an error, and the lock that comes next would
// have waited for it.
func (s *Server) EndSessionsOf(ctx context.Context, users []string, budget time.Duration) (int, error) {
	if len(users) == 0 {
		return 0, nil
	}
	list := ""
	for _, u := range users {
		list += "," + quote(u)
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return 0, err
	}
	records, err := s.records(ctx, "SELECT ID FROM "+d.processes+" WHERE USER IN ("+list[1:]+") AND COMMAND NOT LIKE 'Binlog Dump%'")
	if err != nil {
		return 0, err
	}
	var ids []uint64
	for _, r := range records {
		id, _ := strconv.ParseUint(r["ID"], 10, 64)
		ids = append(ids, id)
	}
	return len(ids), s.endSessions(ctx, ids, budget)
}

// MayBar is nil when our account may lock others.
func (s *Server) MayBar(ctx context.Context) error {
	var n int
	err := s.row(ctx, `SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES
		WHERE PRIVILEGE_TYPE = 'CREATE USER' AND GRANTEE = CONCAT("'", REPLACE(CURRENT_USER(), '@', "'@'"), "'")`, nil, &n)
	if err != nil || n > 0 {
		return err
	}
	return s.fail("lock accounts", errors.New("it lacks the privilege CREATE USER"))
}
