package mysql

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"stowage/farm"
	"stowage/internal/optionfile"
)

// Account is a user name and a password. Its String hides the password.
type Account struct {
	User     string
	Password string
}

func (a Account) String() string { return a.User + ":***" }

// ReadAccount reads user and password of one group of an option file (the
// format of ~/.my.cnf: [group], key=value, # and ; comments, optional quotes).
func ReadAccount(path, group string) (Account, error) {
	fail := func(err error, hint string) (Account, error) {
		return Account{}, &farm.Error{Op: "read account", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err, "farm.yaml's accounts: names an option file with the groups [stowage] and [replication]")
	}
	defer f.Close()
	var a Account
	inGroup, found := false, false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if name, ok := optionfile.Group(line); ok {
			inGroup = name == group
			found = found || inGroup
			continue
		}
		key, value, ok := optionfile.Option(line)
		switch {
		case !ok || !inGroup:
		case key == "user":
			a.User = value
		case key == "password":
			a.Password = value
		}
	}
	if err := lines.Err(); err != nil {
		return fail(err, "")
	}
	if !found || a.User == "" {
		return fail(fmt.Errorf("no group [%s] with a user", group), "add the group with user= and password=")
	}
	return a, nil
}
