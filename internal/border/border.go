package border

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stowage/farm"
)

// What a test puts into the environment of the program, and what it reads of it.
const (
	KillAt     = "STOWAGE_TEST_KILL" // "stowage|engine|both|step @ point|point", "hold @ point|point"
	GoDir      = "STOWAGE_TEST_GO"   // where a held program finds leave to go on
	GoSeen     = "STOWAGE_TEST_SEEN" // a file that is made when a program is held
	MustFail   = "fail"              // in place of leave: the step fails for good
	MarkOfKill = "killed at "
	MarkOfHold = "held at "
)

// Ordered is what the environment orders, or nil.
func Ordered() func(string) error { return killer(os.Getenv(KillAt)) }

// killer is a border that kills, once, when a point is met. A step is killed
// by failing in a way that no retry mends; of several points each fails once.
func killer(order string) func(string) error {
	victim, at, ok := strings.Cut(order, " @ ")
	if !ok {
		return nil
	}
	if victim == "hold" {
		return holder(at, os.Getenv(GoDir))
	}
	var met sync.Map
	return func(point string) error {
		if !slices.Contains(strings.Split(at, "|"), point) {
			return nil
		}
		if _, before := met.LoadOrStore(point, true); before {
			return nil
		}
		fmt.Fprintln(os.Stderr, MarkOfKill+point)
		if victim == "step" {
			return fmt.Errorf("%w: a test says so", farm.ErrRefused)
		}
		if victim != "stowage" {
			for _, pid := range engines() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if victim != "engine" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
		return nil
	}
}

// engines are the stowage-engine processes that this program uses, whoever has started them: those that look after a file which we
// have open.
func engines() []int {
	ours := map[string]bool{}
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range open {
		if path, err := os.Readlink(fd); err == nil && filepath.Base(path) == "engine.users" {
			ours[path] = true
		}
	}
	var out []int
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(raw), "\x00")
		if n := slices.Index(args, "--users"); n > 0 && n+1 < len(args) && ours[args[n+1]] {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			out = append(out, pid)
		}
	}
	return out
}

// holder is a border that holds the program at each point of a list, separated
// by |, until a file of that name is in the directory.
func holder(list, dir string) func(string) error {
	want, met := map[string]bool{}, map[string]int{}
	for _, p := range strings.Split(list, "|") {
		want[p] = true
	}
	var mu sync.Mutex
	return func(point string) error {
		mu.Lock()
		met[point]++
		if n := met[point]; n > 1 {
			point = fmt.Sprintf("%s#%d", point, n)
		}
		held := want[point]
		mu.Unlock()
		if !held {
			return nil
		}
		fmt.Fprintln(os.Stderr, MarkOfHold+point)
		if seen := os.Getenv(GoSeen); seen != "" {
			_ = os.WriteFile(seen, nil, 0o644)
		}
		for {
			leave, err := os.ReadFile(filepath.Join(dir, url.PathEscape(point)))
			if err == nil && string(leave) == MustFail {
				return fmt.Errorf("%w: a test says so", farm.ErrRefused)
			}
			if err == nil {
				return nil
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// Release lets a program that is held at a point go on, with a text for it.
func Release(dir, point, text string) error {
	file := filepath.Join(dir, url.PathEscape(point))
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
