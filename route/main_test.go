package route_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/route"
)

// TestMain lets the test binary be the routing program of the owner's, as
// docs/reference/routing.md describes one: route.test routing-program DIR.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "routing-program" {
		code, err := routingProgram(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	if len(os.Args) == 5 && os.Args[1] == "late-keeper" {
		await(filepath.Join(os.Args[2], "late-go"))
		from, _ := strconv.ParseInt(os.Args[3], 10, 64)
		code, _ := keep(os.Args[2], from, []byte(os.Args[4]))
		_ = os.WriteFile(filepath.Join(os.Args[2], "late-code"), []byte(strconv.Itoa(code)), 0o600)
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// routingProgram keeps the table in DIR/table.json. Files in DIR make it fail:
// "broken" always, "lies" says applied and does nothing, "hangs" does not end
// an apply, "late" leaves a child that carries the apply out later, when there
// is DIR/late-go. An apply that does not end makes DIR/hanging.
func routingProgram(dir string) (int, error) {
	var q struct {
		Do    string          `json:"do"`
		From  int64           `json:"from"`
		Table json.RawMessage `json:"table"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		return 1, err
	}
	path := filepath.Join(dir, "table.json")
	has := func(fault string) bool { _, err := os.Stat(filepath.Join(dir, fault)); return err == nil }
	if has("broken") {
		return 1, fmt.Errorf("the load balancer is away")
	}
	switch q.Do {
	case "read":
		raw, err := os.ReadFile(path)
		if err != nil {
			return 1, err
		}
		_, err = os.Stdout.Write(raw)
		return code(err), err
	case "apply":
		switch {
		case has("lies"):
			return 0, nil
		case has("hangs"):
			hang(dir)
		case has("late"):
			child := exec.Command(os.Args[0], "late-keeper", dir, strconv.FormatInt(q.From, 10), string(q.Table))
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the kill does not reach it
			if err := child.Start(); err != nil {
				return 1, err
			}
			hang(dir)
		}
		return keep(dir, q.From, q.Table)
	}
	return 2, fmt.Errorf("asked to %q", q.Do)
}

func hang(dir string) {
	_ = os.WriteFile(filepath.Join(dir, "hanging"), nil, 0o600)
	time.Sleep(time.Hour)
}

// await waits until there is a file.
func await(path string) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

func code(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

// keep replaces the table if it is of the generation that the caller thinks.
func keep(dir string, from int64, table []byte) (int, error) {
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return 1, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return 1, err
	}
	path := filepath.Join(dir, "table.json")
	var now route.Table
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &now)
	}
	if err != nil && !os.IsNotExist(err) {
		return 1, err
	}
	if now.Generation != from {
		return 3, fmt.Errorf("it holds generation %d", now.Generation)
	}
	if err := os.WriteFile(path+".new", table, 0o600); err != nil {
		return 1, err
	}
	return code(os.Rename(path+".new", path)), nil
}
