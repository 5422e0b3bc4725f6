package mysql

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"

	"stowage/farm"
	"stowage/internal/optionfile"
)

// Account is what is needed to log in to a server: a user name, a password,
// and how the server proves who it is before it learns anything of them. Its
// String hides all but the name.
type Account struct {
	User     string
	Password string
	// TLS is nil where connections are made without it.
	TLS *TLS `json:",omitempty"`
	// PublicKey is the server's RSA key (PEM), with which a password may be
	// encrypted where there is no TLS. Without it no password is sent so.
	PublicKey string `json:",omitempty"`
	// Source is how a replica that logs in with this account uses TLS: paths
	// on the replica's host. Nil: as its link did before.
	Source *SourceTLS `json:",omitempty"`
	// Hosts is what differs on single hosts, by their addresses.
	Hosts map[string]Account `json:",omitempty"`
}

func (a Account) String() string { return a.User + ":***" }

// At is the account for a server at host:port.
func (a Account) At(address string) Account {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	own, ok := a.Hosts[host]
	if !ok {
		own = a
	}
	own.Hosts = nil
	return own
}

// Named lets hosts be written by their names in farm.yaml: the address of a
// name that has a group of its own is looked up.
func (a Account) Named(address func(name string) (string, bool)) Account {
	if len(a.Hosts) == 0 {
		return a
	}
	hosts := maps.Clone(a.Hosts)
	for name, own := range a.Hosts {
		if at, ok := address(name); ok {
			hosts[at] = own
		}
	}
	a.Hosts = hosts
	return a
}

// ErrNoGroup: the accounts file has no such group, for no host either.
var ErrNoGroup = errors.New("no such group")

// noUser is a group that is not there, or has no user.
type noUser struct {
	group   string
	missing bool
}

func (e noUser) Error() string { return "no group [" + e.group + "] with a user" }

func (e noUser) Is(target error) bool { return e.missing && target == ErrNoGroup }

// ReadAccount reads one group of an option file (the format of ~/.my.cnf:
// [group], key=value, # and ; comments, optional quotes), and the groups
// [group@HOST], each of which replaces single keys for one host.
func ReadAccount(path, group string) (Account, error) {
	fail := func(err error, hint string) (Account, error) {
		return Account{}, &farm.Error{Op: "read account", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	groups, err := readGroups(path, group)
	if err != nil {
		hint := "farm.yaml's accounts: names an option file with the groups [stowage] and [replication]"
		var own *fileFault
		if errors.As(err, &own) {
			hint = own.hint
		}
		return fail(err, hint)
	}
	common := groups[""]
	if common["user"] == "" {
		return fail(noUser{group, len(groups) == 0}, "add the group with user= and password=")
	}
	build := func(title string, keys map[string]string) (Account, error) {
		a, err := accountOf(filepath.Dir(path), group == "replication", keys)
		if err != nil {
			return Account{}, fmt.Errorf("[%s]: %w", title, err)
		}
		return a, nil
	}
	out, err := build(group, common)
	if err != nil {
		return fail(err, "docs/reference/farm.yaml.md, accounts.cnf, lists the keys")
	}
	for host, keys := range groups {
		if host == "" {
			continue
		}
		all := maps.Clone(common)
		maps.Copy(all, keys)
		own, err := build(group+"@"+host, all)
		if err != nil {
			return fail(err, "docs/reference/farm.yaml.md, accounts.cnf, lists the keys")
		}
		if out.Hosts == nil {
			out.Hosts = map[string]Account{}
		}
		out.Hosts[host] = own
	}
	return out, nil
}

// readGroups are the keys of [group], under "", and of each [group@HOST].
func readGroups(path, group string) (map[string]map[string]string, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]map[string]string{}
	var keys map[string]string // of the group that is being read; nil: it is none of these
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if name, ok := optionfile.Group(line); ok {
			base, host, _ := strings.Cut(name, "@")
			if keys = nil; base == group {
				if keys = out[host]; keys == nil {
					keys = map[string]string{}
					out[host] = keys
				}
			}
			continue
		}
		if key, value, ok := optionfile.Option(line); ok && keys != nil {
			if key == "skip_ssl" {
				key, value = "ssl", "0"
			}
			keys[key] = value
		}
	}
	return out, lines.Err()
}

// accountOf is the account of a group's keys. Unknown keys are for others.
func accountOf(dir string, onServers bool, keys map[string]string) (Account, error) {
	a := Account{User: keys["user"], Password: keys["password"]}
	if err := refusedKeys(keys); err != nil {
		return a, err
	}
	if onServers {
		source, err := sourceOf(keys)
		a.Source = source
		return a, err
	}
	var err error
	if a.TLS, err = tlsOf(dir, keys); err != nil {
		return a, err
	}
	if name := keys["server_public_key_path"]; name != "" {
		raw, err := os.ReadFile(below(dir, name))
		if err != nil {
			return a, err
		}
		if _, err := rsaKey(string(raw)); err != nil {
			return a, fmt.Errorf("server-public-key-path %s: %w", name, err)
		}
		a.PublicKey = string(raw)
	}
	return a, nil
}

// below makes a path relative to the accounts file absolute.
func below(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
