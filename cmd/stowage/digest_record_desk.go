package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/session"
	"stowage/workspace"
)

// recordDesk is the workspace with the account that reads and sets. Servers that are all named by their address need no
// workspace: the journal, without which no setting is changed, then is in the caller's own state directory.
func (a *app) recordDesk(names []string, account string) (*session.Session, error) {
	d, err := a.open()
	if err != nil {
		addressed := !slices.ContainsFunc(names, func(n string) bool { return !isAddress(n) })
		ws, ownErr := ownState()
		if !errors.Is(err, farm.ErrInput) || hasFarm(a.dir) || !addressed || ownErr != nil {
			return nil, err
		}
		if len(names) == 0 && !isDir(recordDir(ws)) {
			return nil, err
		}
		d = session.Of(ws, &farm.Farm{}, nil, a.options())
	}
	if account == "" && d.Farm.Accounts != "" {
		account = d.Path(d.Farm.Accounts)
	}
	if d.Admin, err = readingAccount(account); err != nil {
		d.Close()
		return nil, err
	}
	d.Recording, err = d.Admin, mysql.ErrNoGroup
	if account != "" {
		d.Recording, err = mysql.ReadAccount(account, "record")
	}
	if errors.Is(err, mysql.ErrNoGroup) {
		d.Recording, err = d.Admin, nil // a recording by agents says what that means
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	d.Admin, d.Recording = session.NamedIn(d.Farm, d.Admin), session.NamedIn(d.Farm, d.Recording)
	return d, nil
}

// isAddress says whether a server is named by host and port.
func isAddress(name string) bool {
	host, port, err := net.SplitHostPort(name)
	return err == nil && host != "" && port != "" && !strings.ContainsAny(name, "/\\")
}

func hasFarm(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "farm.yaml"))
	return err == nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// ownState is where what belongs to no workspace is kept: readable by its owner only.
func ownState() (*workspace.Workspace, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return &workspace.Workspace{Dir: filepath.Join(dir, "stowage")}, nil
}
