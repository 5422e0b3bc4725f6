package follow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
)

// TestBenchLag measures how long after a client has sent a change its line comes
// out of a pipe, while clients change rows at a rate. scripts/bench/follow.sh
// runs it and reads its line: BENCH_FOLLOW is the changes a second.
func TestBenchLag(t *testing.T) {
	rate, err := strconv.Atoi(os.Getenv("BENCH_FOLLOW"))
	if err != nil {
		t.Skip("BENCH_FOLLOW is not set: this is a measurement, not a test")
	}
	seconds := 30
	if n, err := strconv.Atoi(os.Getenv("FOLLOW_SECONDS")); err == nil {
		seconds = n
	}
	const writers, rows = 8, 5
	i := mariadbtest.Start(t, "shop", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=128M", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT AUTO_INCREMENT PRIMARY KEY, sent BIGINT NOT NULL, name VARCHAR(60), body VARCHAR(200))")
	s := mysqltest.Open(t, i)
	read, write, err := os.Pipe()
	must(t, err)
	f := &Follower{Places: still{s}, Sink: NewWriter(write, nil), State: State{Shard: "shop", ServerID: 990001, Pair: "pair", Position: mysqltest.Position(t, s).String()}}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	before := processor(t)
	work.Go(func() {
		if err := f.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		write.Close()
	})
	var lags []time.Duration
	work.Go(func() {
		for lines := bufio.NewScanner(read); lines.Scan(); {
			var l struct{ After struct{ Sent int64 } }
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Error(err)
				return
			}
			lags = append(lags, time.Since(time.UnixMicro(l.After.Sent)))
		}
	})
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var clients sync.WaitGroup
	for n := range writers {
		db := i.DB(t, mariadbtest.App, "shop")
		clients.Go(func() {
			pause := time.Second * writers * rows / time.Duration(rate)
			next := time.Now().Add(pause * time.Duration(n) / writers)
			for ; next.Before(end); next = next.Add(pause) {
				time.Sleep(time.Until(next))
				value := fmt.Sprintf("(%d, 'a file of somebody', REPEAT('x', 150))", time.Now().UnixMicro())
				if _, err := db.ExecContext(ctx, "INSERT INTO r (sent, name, body) VALUES "+value+strings.Repeat(", "+value, rows-1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	time.Sleep(2 * time.Second)
	stop()
	work.Wait()
	if len(lags) < 100 {
		t.Fatalf("%d lines", len(lags))
	}
	slices.Sort(lags)
	at := func(share float64) float64 {
		return float64(lags[int(share*float64(len(lags)-1))].Microseconds()) / 1000
	}
	// Read by the script. The processor time is of this process: reader, lines, writers and who reads the pipe.
	fmt.Printf("lag rate %d median %.1f p99 %.1f max %.1f ms CPU %.1f s of %d s\n", len(lags)/seconds, at(0.5), at(0.99), at(1), (processor(t) - before).Seconds(), seconds)
}

func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
