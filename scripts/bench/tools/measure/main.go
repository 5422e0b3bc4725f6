// Command measure runs shell commands in turn, several rounds, and prints what each took: a tool for scripts/bench.
//
//	measure -rounds 3 'ours=stowage digest x.log' 'grep=grep -c x x.log'
//
// It prints a line a command, tab separated: name, CPU seconds (user and system) median, least and most, wall seconds
// median, the peak memory in MB, wall seconds least. All commands run in every round, so that a busy minute of the machine meets each of
// them. Their output goes to /dev/null; one that fails ends the measuring. Memory below some 10 MB cannot be told apart:
// a child begins with the peak of this process.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each command runs")
	flag.Parse()
	if err := run(*rounds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// took is one run of a command.
type took struct {
	cpu, wall float64 // seconds
	rss       int64   // kilobytes
}

func run(rounds int, cases []string) error {
	if len(cases) == 0 || rounds < 1 {
		return errors.New("give at least one NAME=COMMAND and one round")
	}
	all := make([][]took, len(cases))
	for range rounds {
		for i, c := range cases {
			name, command, ok := strings.Cut(c, "=")
			if !ok {
				return fmt.Errorf("%q is not NAME=COMMAND", c)
			}
			t, err := once(command)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all[i] = append(all[i], t)
		}
	}
	for i, c := range cases {
		name, _, _ := strings.Cut(c, "=")
		cpu, wall, rss := []float64{}, []float64{}, int64(0)
		for _, t := range all[i] {
			cpu, wall, rss = append(cpu, t.cpu), append(wall, t.wall), max(rss, t.rss)
		}
		slices.Sort(cpu)
		slices.Sort(wall)
		fmt.Printf("%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%.4f\n", name, cpu[len(cpu)/2], cpu[0], cpu[len(cpu)-1], wall[len(wall)/2], rss/1024, wall[0])
	}
	return nil
}

// once runs a command and all it starts.
func once(command string) (took, error) {
	cmd := exec.Command("bash", "-c", "set -o pipefail; "+command)
	cmd.Stderr = os.Stderr
	from := time.Now()
	err := cmd.Run()
	t := took{wall: time.Since(from).Seconds()}
	if s := cmd.ProcessState; s != nil {
		t.cpu = (s.UserTime() + s.SystemTime()).Seconds()
		if u, ok := s.SysUsage().(*syscall.Rusage); ok {
			t.rss = u.Maxrss
		}
	}
	return t, err
}
