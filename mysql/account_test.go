package mysql

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
)

func optionFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "accounts.cnf")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadAccount(t *testing.T) {
	for _, test := range []struct{ name, text, user, password string }{
		{"plain", "[stowage]\nuser=s\npassword=p\n", "s", "p"},
		{"spaces around", "[stowage]\n  user = s\n\tpassword =  p  \n", "s", "p"},
		{"double quotes", "[stowage]\nuser=s\npassword=\"a b\"\n", "s", "a b"},
		{"single quotes", "[stowage]\nuser='s'\npassword='a # b'\n", "s", "a # b"},
		{"a quote inside", "[stowage]\nuser=s\npassword=a'b\n", "s", "a'b"},
		{"one quote only", "[stowage]\nuser=s\npassword=\"\n", "s", `"`},
		{"comment lines", "# head\n; head\n[stowage]\n#user=no\n;user=no\nuser=s\npassword=p\n", "s", "p"},
		{"comment behind a value", "[stowage]\nuser=s # who\npassword=p# what\n", "s", "p"},
		{"comment behind quotes", "[stowage]\nuser=s\npassword='p#q' # what\n", "s", "p#q"},
		{"comment behind a group", "[stowage] # ours\nuser=s\npassword=p\n", "s", "p"},
		{"escapes", "[stowage]\nuser=s\npassword=a\\\\b\\sc\\td\n", "s", "a\\b c\td"},
		{"escaped quote", "[stowage]\nuser=s\npassword='it\\'s'\n", "s", "it's"},
		{"unknown escape", "[stowage]\nuser=s\npassword=a\\2b\n", "s", "a\\2b"},
		{"semicolon in a value", "[stowage]\nuser=s\npassword=a;b\n", "s", "a;b"},
		{"equals sign in a value", "[stowage]\nuser=s\npassword=a=b=\n", "s", "a=b="},
		{"windows line ends", "[stowage]\r\nuser=s\r\npassword=p\r\n", "s", "p"},
		{"other groups", "[client]\nuser=c\npassword=c\n[stowage]\nuser=s\npassword=p\n[replication]\nuser=r\npassword=r\n", "s", "p"},
		{"group in two parts", "[stowage]\nuser=s\n[client]\nuser=c\n[stowage]\npassword=p\n", "s", "p"},
		{"last one wins", "[stowage]\nuser=a\nuser=s\npassword=p\n", "s", "p"},
		{"no password", "[stowage]\nuser=s\n", "s", ""},
		{"empty password", "[stowage]\nuser=s\npassword=\n", "s", ""},
		{"letters beyond ASCII", "[stowage]\nuser=s\npassword=påßw\n", "s", "påßw"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := optionFile(t, test.text)
			a, err := ReadAccount(path, "stowage")
			if err != nil || a.User != test.user || a.Password != test.password {
				t.Errorf("read %q %q, %v; want %q %q", a.User, a.Password, err, test.user, test.password)
			}
			user, password := asClientsRead(t, path)
			if user != test.user || password != test.password {
				t.Errorf("the clients of MariaDB read %q %q; the expectation of this test is wrong", user, password)
			}
		})
	}
}

// asClientsRead is what MariaDB's own programs read from the file.
func asClientsRead(t *testing.T, path string) (user, password string) {
	t.Helper()
	program, err := exec.LookPath("my_print_defaults")
	if err != nil {
		t.Skip("NOT TESTED: my_print_defaults is not installed, so option files were not compared with what MariaDB reads")
	}
	out, err := exec.Command(program, "--defaults-file="+path, "stowage").Output()
	must(t, err)
	for _, line := range strings.Split(string(out), "\n") {
		if v, ok := strings.CutPrefix(line, "--user="); ok {
			user = v
		}
		if v, ok := strings.CutPrefix(line, "--password="); ok {
			password = v
		}
	}
	return user, password
}

func TestReadAccountSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ name, path, says string }{
		{"no file", filepath.Join(dir, "none.cnf"), "no such file"},
		{"a directory", dir, "is a directory"},
		{"no group", optionFile(t, "[client]\nuser=c\n"), "no group [stowage] with a user"},
		{"no user", optionFile(t, "[stowage]\npassword=secret-word\n"), "no group [stowage] with a user"},
		{"empty", optionFile(t, ""), "no group [stowage] with a user"},
		{"not an option file", optionFile(t, strings.Repeat("x", 1<<20)), "too long"},
	} {
		_, err := ReadAccount(test.path, "stowage")
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(fmt.Sprint(err), test.says) || !strings.Contains(fmt.Sprint(err), test.path) {
			t.Errorf("%s: %v, want unusable input, %q and the file's name", test.name, err, test.says)
		}
		if strings.Contains(fmt.Sprint(err), "secret-word") {
			t.Errorf("%s: the error shows the password: %v", test.name, err)
		}
	}
}

func TestReadAccountUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: root may read every file, so one that may not be read was not tried")
	}
	path := optionFile(t, "[stowage]\nuser=s\n")
	must(t, os.Chmod(path, 0))
	if _, err := ReadAccount(path, "stowage"); !errors.Is(err, os.ErrPermission) || !errors.Is(err, farm.ErrInput) {
		t.Errorf("error %v, want permission denied as unusable input", err)
	}
}

func TestAccountHidesItsPassword(t *testing.T) {
	a := Account{User: "stowage", Password: "secret-word"}
	for _, text := range []string{a.String(), fmt.Sprint(a), fmt.Sprintf("%v %s %+v", a, a, &a)} {
		if strings.Contains(text, "secret-word") {
			t.Errorf("printed as %s", text)
		}
	}
}
