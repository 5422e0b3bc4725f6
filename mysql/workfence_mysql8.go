package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// A side of MySQL that is out has super_read_only, which refuses every account an ALTER, ours and outside of the binary log too. While its tables are changed another fence stands there:
//
//   - read_only stays ON: it stops all accounts but those with CONNECTION_ADMIN or SUPER;
//   - transaction_read_only is ON: sessions that begin now, of those accounts too, write nothing unless they say READ WRITE themselves;
//   - sessions of those accounts that had begun before are ended.
//
// Both variables are set before super_read_only goes and stay until it is back, so there is no moment without a fence. Nobody has to be there to hold it: a Stowage that is killed leaves it standing. A
// server that restarts has the fence of its option file, super_read_only. offline_mode would add nothing: it spares the same accounts as read_only, and ends the link of the replica.
//
// Appliers and receivers that run go on, also when their source restarts. Threads that begin meanwhile fail, because they write to tables of the server (9.7.4: "Failed to create the worker metadata
// repository structure", "could not queue event from source"): START REPLICA comes before LowerFence or behind RaiseFence.
//
// Who writes nevertheless has said READ WRITE, or is the definer of a routine that an old session calls. OwnWrites finds each such transaction, unless it was kept out of the binary log.

// LowerFence puts the fence for changes in the place of super_read_only. On MariaDB read_only lets us through, and nothing is done. The sessions that it could not end (error 1095: they have
// SYSTEM_USER and we have not) come back as text. It can be called again.
func (s *Server) LowerFence(ctx context.Context) (left []string, err error) {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		return nil, err
	}
	closed, err := s.IsReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	if !closed {
		return nil, s.fail("change the fence", fmt.Errorf("%w: it takes writes", farm.ErrRefused))
	}
	if err := s.switchAlone(ctx, "SET GLOBAL transaction_read_only = ON"); err != nil {
		return nil, err
	}
	if _, err := s.endPrivileged(ctx, time.Now().Add(10*time.Second)); err != nil {
		return nil, err
	}
	if err := s.switchAlone(ctx, "SET GLOBAL super_read_only = OFF"); err != nil {
		return nil, err
	}
	return s.endPrivileged(ctx, time.Now().Add(10*time.Second)) // one that was logging in when the variable was set
}

// MayLowerFence says why LowerFence would not stop whom it must, or "".
func (s *Server) MayLowerFence(ctx context.Context) (why string, err error) {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		return "", err
	}
	is, err := s.Variables(ctx, "transaction_read_only")
	if err != nil {
		return "", err
	}
	if is["transaction_read_only"] != "OFF" {
		return "transaction_read_only is " + is["transaction_read_only"] + ", and it is the fence of a side whose tables are changed: clients that do not say READ WRITE would write nothing afterwards", nil
	}
	_, why, err = s.unstopped(ctx)
	return why, err
}

// RaiseFence puts super_read_only back. It waits for the transactions that are committed just now: behind it OwnWrites is final.
func (s *Server) RaiseFence(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		return err
	}
	if err := s.switchAlone(ctx, d.fence(true)); err != nil {
		return err
	}
	return s.switchAlone(ctx, "SET GLOBAL transaction_read_only = OFF")
}

// OwnWrites are the transactions that the server has written itself and not applied as a replica. On MariaDB none are looked for.
func (s *Server) OwnWrites(ctx context.Context) (Position, error) {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		return nil, err
	}
	var id string
	if err := s.row(ctx, "SELECT @@GLOBAL.server_uuid", nil, &id); err != nil {
		return nil, err
	}
	all, err := s.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	own := Position{}
	for origin, stretch := range all {
		if of, _, _ := strings.Cut(string(origin), ":"); of == strings.ToLower(id) { // a tag may follow
			own[origin] = stretch
		}
	}
	return own, nil
}

// unstopped are the users whom read_only of MySQL does not stop, by a grant of their own or by a role; all says why it would stop nobody at all.
func (s *Server) unstopped(ctx context.Context) (users []string, all string, err error) {
	const holders = `WITH RECURSIVE
		direct AS (SELECT User AS u, Host AS h FROM mysql.user WHERE Super_priv = 'Y' UNION SELECT USER, HOST FROM mysql.global_grants WHERE PRIV = 'CONNECTION_ADMIN'),
		every AS (SELECT u, h FROM direct UNION SELECT e.TO_USER, e.TO_HOST FROM mysql.role_edges e JOIN every ON e.FROM_USER = every.u AND e.FROM_HOST = every.h)
		SELECT DISTINCT u AS user FROM every WHERE u NOT LIKE 'mysql.%'`
	records, err := s.records(ctx, holders)
	if err != nil {
		return nil, "", err
	}
	users = Column(records, "user")
	var mandatory string
	if err := s.row(ctx, "SELECT @@GLOBAL.mandatory_roles", nil, &mandatory); err != nil {
		return nil, "", err
	}
	for _, role := range strings.Split(mandatory, ",") {
		name, _, _ := strings.Cut(role, "@")
		if name = strings.Trim(strings.TrimSpace(name), "`'\""); name != "" && slices.Contains(users, name) {
			return nil, "mandatory_roles gives every account role " + name + ", and with it CONNECTION_ADMIN or SUPER: read_only stops nobody", nil
		}
	}
	return slices.DeleteFunc(users, func(u string) bool { return strings.EqualFold(u, s.account.User) }), "", nil
}

// endPrivileged ends the sessions of users whom read_only does not stop, and names those that it may not end.
func (s *Server) endPrivileged(ctx context.Context, deadline time.Time) (left []string, err error) {
	users, all, err := s.unstopped(ctx)
	if err == nil && all != "" {
		err = s.fail("change the fence", fmt.Errorf("%w: %s", farm.ErrRefused, all))
	}
	if err != nil || len(users) == 0 {
		return nil, err
	}
	var list []string
	for _, u := range users {
		list = append(list, quote(u))
	}
	for {
		// By thread, for a session that is connected now is not the one that comes next: that has transaction_read_only.
		records, err := s.records(ctx, "SELECT ID, USER, HOST FROM performance_schema.processlist WHERE USER IN ("+strings.Join(list, ", ")+
			") AND COMMAND NOT LIKE 'Binlog Dump%' AND ID NOT IN (SELECT t.PROCESSLIST_ID FROM performance_schema.threads t JOIN performance_schema.variables_by_thread v ON v.THREAD_ID = t.THREAD_ID"+
			" WHERE v.VARIABLE_NAME = 'transaction_read_only' AND v.VARIABLE_VALUE = 'ON' AND t.PROCESSLIST_ID IS NOT NULL)")
		if err != nil {
			return nil, err
		}
		open := 0
		left = nil
		for _, r := range records {
			id, _ := strconv.ParseUint(r["ID"], 10, 64)
			switch err := s.kill(ctx, id); {
			case CodeOf(err) == 1095:
				left = append(left, fmt.Sprintf("session %d of %s at %s", id, r["USER"], r["HOST"]))
			case err != nil:
				return nil, err
			default:
				open++
			}
		}
		switch {
		case open == 0:
			return left, nil
		case time.Now().After(deadline):
			return nil, s.fail("end sessions", errors.New("sessions of accounts with CONNECTION_ADMIN or SUPER do not end"))
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, s.fail("end sessions", err)
		}
	}
}
