package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Lack is what an account would need on a server and does not have.
type Lack struct {
	Privileges []string
	Accounts   string // as GRANT names them: 'stowage'@'10.0.%'
}

// IsNone reports that nothing is missing.
func (l Lack) IsNone() bool { return len(l.Privileges) == 0 }

// Text says what is missing, of Stowage's own account.
func (l Lack) Text() string {
	return "Stowage's account " + l.Accounts + " lacks " + strings.Join(l.Privileges, ", ")
}

// Remedy is the statement that gives it.
func (l Lack) Remedy() string {
	return "GRANT " + strings.Join(l.Privileges, ", ") + " ON *.* TO " + l.Accounts + "; why each: docs/reference/privileges.md"
}

// Lacking is what Stowage's own account lacks, of what docs/reference/privileges.md lists and of these besides.
func (s *Server) Lacking(ctx context.Context, besides ...string) (Lack, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return Lack{}, err
	}
	return s.LackingOf(ctx, slices.Concat(d.privileges(), besides)...)
}

// LackingForShards is what the account lacks where single shards are moved, besides what Lacking says.
func (s *Server) LackingForShards(ctx context.Context) (Lack, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return Lack{}, err
	}
	return s.LackingOf(ctx, d.shardPrivileges()...)
}

// LackingOf is which of the privileges the account does not have on the whole server. The account is the one that the server
// matched at login: its host part is often not the address that Stowage comes from.
func (s *Server) LackingOf(ctx context.Context, privileges ...string) (Lack, error) {
	records, err := s.records(ctx, `SELECT own.account, PRIVILEGE_TYPE AS has FROM
		(SELECT CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))) AS account) own
		LEFT JOIN information_schema.USER_PRIVILEGES ON GRANTEE = own.account`)
	if err != nil || len(records) == 0 {
		return Lack{}, err
	}
	return lackOf(privileges, Column(records, "has"), records[0]["account"]), nil
}

// lackOf compares needs with what there is, under any of a server's names for it.
func lackOf(needed, has []string, accounts ...string) Lack {
	if slices.Contains(has, "SLAVE MONITOR") {
		has = append(has, "REPLICA MONITOR") // the server's other name for it
	}
	if slices.Contains(has, "SET_USER_ID") {
		has = append(has, "SET_ANY_DEFINER") // MySQL's name for it before 8.2
	}
	out := Lack{Accounts: strings.Join(accounts, ", ")}
	for _, p := range needed {
		if !slices.Contains(has, p) {
			out.Privileges = append(out.Privileges, p)
		}
	}
	return out
}

// BackupFault says what keeps an account from copying this server, and what to do; nothing where it may. A login is tried where one of
// the user's accounts admits our own address.
func (s *Server) BackupFault(ctx context.Context, as Account) (fault, remedy string, err error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return "", "", err
	}
	return s.copierFault(ctx, as, d.backupPrivileges())
}

// dumpPrivileges are what the account for copies needs besides where logical backups are taken: it reads every row.
var dumpPrivileges = []string{
	"SELECT",    // rows, the texts of routines, accounts
	"SHOW VIEW", // without it views have no definition
	"TRIGGER",   // without it triggers are not shown
	"EVENT",     // without it events are not shown
}

// dumpPrivilegesMySQL are the same on MySQL, where the account for copies holds no lock otherwise.
var dumpPrivilegesMySQL = slices.Concat(dumpPrivileges, []string{
	"RELOAD",  // FLUSH TABLES WITH READ LOCK while the snapshots are opened
	"PROCESS", // whether a statement runs long, behind which that lock would wait
})

// DumpFault is that of an account that dumps: it reads rows, too. Nobody is cloned by it.
func (s *Server) DumpFault(ctx context.Context, as Account) (fault, remedy string, err error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return "", "", err
	}
	if d.flavor.HasGTIDDomains() {
		return s.copierFault(ctx, as, slices.Concat(backupPrivileges, dumpPrivileges))
	}
	return s.copierFault(ctx, as, dumpPrivilegesMySQL)
}

// copierFault asks for privileges of any account of that user: which of several hosts it will come from is not asked.
func (s *Server) copierFault(ctx context.Context, as Account, needs []string) (fault, remedy string, err error) {
	records, err := s.records(ctx, `SELECT GRANTEE AS account, PRIVILEGE_TYPE AS has FROM information_schema.USER_PRIVILEGES
		WHERE LEFT(GRANTEE, CHAR_LENGTH(QUOTE(?)) + 1) = CONCAT(QUOTE(?), '@') ORDER BY 1`, as.User, as.User)
	if err != nil {
		return "", "", err
	}
	if len(records) == 0 {
		return "it has no account " + as.User + ", which [backup] of the accounts file names", "CREATE USER and GRANT: docs/reference/privileges.md", nil
	}
	lack := lackOf(needs, Column(records, "has"), slices.Compact(Column(records, "account"))...)
	if !lack.IsNone() {
		return "the account " + as.User + " of [backup] lacks " + strings.Join(lack.Privileges, ", "), lack.Remedy(), nil
	}
	refusal, err := s.RefusesLogin(ctx, as)
	if refusal == nil {
		return "", "", err
	}
	return fmt.Sprintf("the account %s of [backup] cannot log in: %v", as.User, errors.Unwrap(refusal)), "correct the password in the [backup] group of the accounts file, or on the server", nil
}
