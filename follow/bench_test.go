package follow

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"

	"context"
	"log/slog"
)

// TestBenchLag measures how long after a client has sent a change its line comes
// out of the pipe of a process that follows, while clients change rows at a rate:
// of ours, and of others on the same stream at the same time. scripts/bench/follow.sh
// runs it and reads its lines: BENCH_FOLLOW is the changes a second, FOLLOW_PEERS
// has a line NAME=COMMAND for each other.
func TestBenchLag(t *testing.T) {
	rate, err := strconv.Atoi(os.Getenv("BENCH_FOLLOW"))
	if err != nil {
		t.Skip("BENCH_FOLLOW is not set: this is a measurement, not a test")
	}
	number := func(name string, usual int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return usual
	}
	seconds, rounds := number("FOLLOW_SECONDS", 20), number("FOLLOW_ROUNDS", 3)
	i := mariadbtest.Start(t, "shop", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=128M", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
	i.Exec(t, "CREATE DATABASE shop", "CREATE DATABASE maxwell", "CREATE TABLE shop.r (id INT AUTO_INCREMENT PRIMARY KEY, sent BIGINT NOT NULL, name VARCHAR(60), body VARCHAR(200))")
	followers := []*measured{startMeasured(t, i, "ours", os.Args[0]+" -test.run ^TestFollowerAlone$ "+os.Getenv("FOLLOW_PROFILE")+" {address}", t.TempDir())}
	for _, one := range strings.Split(os.Getenv("FOLLOW_PEERS"), "\n") {
		if name, command, ok := strings.Cut(one, "="); ok {
			followers = append(followers, startMeasured(t, i, name, command, t.TempDir()))
		}
	}
	followers = readyOnes(t, i, followers)

	write(t, i, rate, 15*time.Second) // programs in Java get faster
	awaitAll(t, i, followers)
	for range rounds {
		measure(t, i, followers, rate, seconds)
	}
}

// measure is one round. Its lines are read by the script.
func measure(t *testing.T, i *mariadbtest.Instance, followers []*measured, rate, seconds int) {
	t.Helper()
	for _, f := range followers {
		f.begin(t)
	}
	from := time.Now()
	write(t, i, rate, time.Duration(seconds)*time.Second)
	to := time.Now()
	awaitAll(t, i, followers)
	wrote := i.Value(t, fmt.Sprintf("SELECT COUNT(*) FROM shop.r WHERE sent BETWEEN %d AND %d", from.UnixMicro(), to.UnixMicro()))
	for _, f := range followers {
		lags := f.lags(from, to)
		if fmt.Sprint(len(lags)) != wrote {
			if f.name == "ours" {
				t.Errorf("%d lines of %s changes", len(lags), wrote)
			}
			fmt.Printf("none %s %d lines of %s changes\n", f.name, len(lags), wrote)
			continue
		}
		at := func(share float64) float64 {
			return float64(lags[int(share*float64(len(lags)-1))].Microseconds()) / 1000
		}
		fmt.Printf("lag %s rate %d median %.1f p99 %.1f max %.1f ms CPU %.2f s of %d s\n", f.name, len(lags)/seconds, at(0.5), at(0.99), at(1), f.used.Seconds(), seconds)
	}
}

// write has clients insert rows at a rate, for so long.
func write(t *testing.T, i *mariadbtest.Instance, rate int, how time.Duration) {
	t.Helper()
	const writers, rows = 8, 5
	end := time.Now().Add(how)
	var clients sync.WaitGroup
	for n := range writers {
		db := i.DB(t, mariadbtest.App, "shop")
		clients.Go(func() {
			pause := time.Second * writers * rows / time.Duration(rate)
			next := time.Now().Add(pause * time.Duration(n) / writers)
			for ; next.Before(end); next = next.Add(pause) {
				time.Sleep(time.Until(next))
				value := fmt.Sprintf("(%d, 'a file of somebody', REPEAT('x', 150))", time.Now().UnixMicro())
				if _, err := db.ExecContext(t.Context(), "INSERT INTO r (sent, name, body) VALUES "+value+strings.Repeat(", "+value, rows-1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// awaitAll waits until each follower has shown the last change, a minute at most.
func awaitAll(t *testing.T, i *mariadbtest.Instance, all []*measured) {
	t.Helper()
	last, err := strconv.ParseInt(i.Value(t, "SELECT MAX(sent) FROM shop.r"), 10, 64)
	must(t, err)
	for _, f := range all {
		for end := time.Now().Add(time.Minute); !f.hasShown(last) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		f.end(t)
	}
	time.Sleep(300 * time.Millisecond) // others of its transaction, and what was sent before it and committed after it
}

// TestFollowerAlone is a process that follows the database shop of a server, its last argument, as `stowage follow --state` does, into its
// standard output.
func TestFollowerAlone(t *testing.T) {
	address := os.Args[len(os.Args)-1]
	if os.Getenv("BENCH_FOLLOW") == "" || strings.HasPrefix(address, "-") {
		t.Skip("TestBenchLag starts it")
	}
	s := mysql.Open("shop", address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	defer s.Close()
	file, _, err := OpenState(t.TempDir() + "/state")
	must(t, err)
	defer file.Close()
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := &Follower{Places: still{s}, Sink: NewWriter(os.Stdout, nil), Keep: file.Save, State: State{Shard: farm.ShardName("shop"), ServerID: 990001, Pair: "pair", Position: mysqltest.Position(t, s).String()}}
	if err := f.Run(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}

// readyOnes waits until each follower has shown a change, and leaves out those that ended instead.
func readyOnes(t *testing.T, i *mariadbtest.Instance, all []*measured) []*measured {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		i.Exec(t, "INSERT INTO shop.r (sent, name, body) VALUES (1, 'are you ready', '')")
		waits := slices.ContainsFunc(all, func(f *measured) bool { return !f.isReady() && !f.hasEnded() })
		if !waits || time.Now().After(end) {
			break
		}
	}
	return slices.DeleteFunc(all, func(f *measured) bool {
		if f.isReady() && !f.hasEnded() {
			return false
		}
		t.Logf("%s said:\n%s", f.name, &f.said)
		fmt.Printf("none %s %s\n", f.name, f.lastWords())
		if f.name == "ours" {
			t.Fatalf("ours does not follow: %s", f.lastWords())
		}
		return true
	})
}
