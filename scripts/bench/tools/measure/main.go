// Command measure runs shell commands in turn, several rounds, and prints what each took: a tool for scripts/bench.
//
//	measure -rounds 3 'ours=stowage digest x.log' 'grep=grep -c x x.log'
//
// It prints a line a command, tab separated: name, CPU seconds (user and system) median, least and most, wall seconds
// median, the peak memory in MB, wall seconds least. All commands run in every round, so that a busy minute of the machine meets each of
// them. Their output goes to /dev/null; one that fails ends the measuring. Memory below some 10 MB cannot be distinguished:
// a child begins with the peak of this process.
//
// With -paired one/two it also prints how many times longer one took than two: the median, over all rounds, of the ratio of
// wall seconds within a round, and the 95 % interval of that median. A processor that is faster in one minute than in the
// next changes both commands of a round alike, but not the medians of each over all rounds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each command runs")
	paired := flag.String("paired", "", "two of the names, NAME/NAME: compare them round by round")
	flag.Parse()
	if err := run(*rounds, *paired, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// took is one run of a command.
type took struct {
	cpu, wall float64 // seconds
	rss       int64   // kilobytes
}

func run(rounds int, paired string, cases []string) error {
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
	if paired != "" {
		if err := compare(paired, cases, all); err != nil {
			return err
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

// compare prints the line of -paired.
func compare(paired string, cases []string, all [][]took) error {
	var sides [][]took
	for name := range strings.SplitSeq(paired, "/") {
		i := slices.IndexFunc(cases, func(c string) bool { return strings.HasPrefix(c, name+"=") })
		if i < 0 {
			return fmt.Errorf("-paired %s: there is no command %q", paired, name)
		}
		sides = append(sides, all[i])
	}
	if len(sides) != 2 {
		return fmt.Errorf("-paired %s: give two names with a / between them", paired)
	}
	var ratios []float64
	for i := range sides[0] {
		ratios = append(ratios, sides[0][i].wall/sides[1][i].wall)
	}
	slices.Sort(ratios)
	// By ranks: how many of n are below the true median is binomial, n/2 with a deviation of sqrt(n)/2.
	n := float64(len(ratios))
	off := int(math.Ceil(0.98*math.Sqrt(n) + 0.5))
	mid := len(ratios) / 2
	low, high := ratios[max(0, mid-off)], ratios[min(len(ratios)-1, mid+off)]
	fmt.Printf("%s\t%.3f\t%.3f\t%.3f\n", paired, ratios[mid], low, high)
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
