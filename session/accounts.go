package session

import (
	"errors"
	"fmt"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// Accounts are what servers are logged in to with.
type Accounts struct {
	Admin       mysql.Account // of Stowage itself
	Replication mysql.Account // of servers, to each other
	Backup      mysql.Account // what a copy is made with, whose password its host learns
	Recording   mysql.Account // what an agent records with
}

// Login reads the accounts. Those for copies and recordings are Admin where the file names none: preflight, and a recording by
// agents, say what that means.
func (s *Session) Login() error {
	if s.Farm.Accounts == "" {
		return &farm.Error{Op: "read accounts", Subject: "farm.yaml", Err: fmt.Errorf("%w: no accounts: key", farm.ErrInput),
			Hint: "name an option file with the groups [stowage] and [replication]"}
	}
	path := s.Path(s.Farm.Accounts)
	for _, a := range []struct {
		group    string
		into     *mysql.Account
		optional bool
	}{{"stowage", &s.Admin, false}, {"replication", &s.Replication, false}, {"backup", &s.Backup, true}, {"record", &s.Recording, true}} {
		var err error
		*a.into, err = mysql.ReadAccount(path, a.group)
		if a.optional && errors.Is(err, mysql.ErrNoGroup) {
			*a.into, err = s.Admin, nil
		}
		if err != nil {
			return err
		}
		*a.into = NamedIn(s.Farm, *a.into)
	}
	return nil
}

// NamedIn lets the accounts file name hosts as farm.yaml does; f may be nil.
func NamedIn(f *farm.Farm, a mysql.Account) mysql.Account {
	return a.Named(func(name string) (string, bool) {
		if f == nil {
			return "", false
		}
		h, ok := f.Host(farm.HostName(name))
		return h.Address, ok
	})
}

// Server is a server as the administrator reaches it. It is not dialled yet.
func (s *Session) Server(name farm.InstanceName, address string) *mysql.Server {
	return mysql.Open(name, address, s.Admin, s.opts.Log)
}

// LoginOf is what the source's host is told of an account, and no more.
func LoginOf(as mysql.Account, address string) host.Login {
	as = as.At(address)
	out := host.Login{User: as.User, Password: as.Password, Address: address}
	if t := as.TLS; t != nil {
		out.CA, out.Cert, out.Key, out.AnyName = t.CA, t.Cert, t.Key, t.AnyName
	}
	return out
}
