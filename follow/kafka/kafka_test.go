package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"stowage/farm"
	"stowage/follow"
)

var _ follow.Sink = (*Topic)(nil)

// brokers is a cluster in this process that speaks the protocol.
func brokers(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(4, "files"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestLinesOfARowStayInOrder(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	topic, err := Open(t.Context(), c.ListenAddrs(), "files", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	const rows, each = 50, 20
	key, line := []byte{}, []byte{}
	for n := range each {
		for row := range rows {
			key, line = fmt.Appendf(key[:0], "files %d", row), fmt.Appendf(line[:0], "%d/%d", row, n)
			if err := topic.Put(key, line); err != nil {
				t.Fatal(err)
			}
		}
		if n == each/2 { // a broker goes away and comes back: it is waited for
			if err := c.MoveTopicPartition("files", 0, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(topic.Flush(), topic.Settle(t.Context())); err != nil {
		t.Fatal(err)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("files"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next, of := map[string]int{}, map[string]int32{}
	for got := 0; got < rows*each; {
		fetched := reader.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatalf("%d of %d records came: %v", got, rows*each, err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			got++
			k := string(r.Key)
			row := strings.TrimPrefix(k, "files ")
			if want := fmt.Sprintf("%s/%d", row, next[k]); string(r.Value) != want {
				t.Errorf("row %s: %s came, want %s", row, r.Value, want)
			}
			if p, seen := of[k]; seen && p != r.Partition {
				t.Errorf("row %s is in partitions %d and %d", row, p, r.Partition)
			}
			next[k]++
			of[k] = r.Partition
		})
	}
	spread := map[int32]bool{}
	for _, p := range of {
		spread[p] = true
	}
	if len(spread) < 2 {
		t.Error("all rows are in one partition")
	}
}

func TestTopicThatIsNotThere(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	_, err := Open(t.Context(), c.ListenAddrs(), "folders", t.Logf)
	if !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "create the topic first") {
		t.Errorf("a topic that is not there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Open(ctx, []string{"127.0.0.1:1"}, "files", t.Logf); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a broker that is not there: %v", err)
	}
}

// What was not acknowledged is said, and not taken for settled.
func TestNothingIsSettledThatIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	topic, err := Open(t.Context(), c.ListenAddrs(), "files", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	c.Close() // all brokers are gone
	if err := topic.Put([]byte("k"), []byte("lost")); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := topic.Settle(short); err == nil {
		t.Error("a record that no broker has is settled")
	}
	topic.Close() // which gives up what is on its way
	if err := topic.Settle(t.Context()); err == nil {
		t.Error("a record that was given up is settled")
	}
}

// A line that is larger than the topic takes is refused by itself: what was put before and after it arrives.
func TestALineThatIsTooLarge(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	topic, err := Open(t.Context(), c.ListenAddrs(), "files", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	for _, size := range []int{10, 2 << 20, 10, topic.largest - around - 1, topic.largest} {
		err := topic.Put([]byte("k"), bytes.Repeat([]byte("x"), size))
		if fits := size < topic.largest-around; fits && err != nil {
			t.Errorf("%d bytes: %v", size, err)
		} else if !fits && (!errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "the line for k has ") || !strings.Contains(farm.Hint(err), "max.message.bytes")) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if err := topic.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

// While no broker acknowledges, Put waits before memory is full, and goes on.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	goOn := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		c.SleepControl(func() { <-goOn })
		return nil, nil, false
	})
	topic, err := Open(t.Context(), c.ListenAddrs(), "files", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	const lines, size = 200, 1 << 19
	var put atomic.Int64
	done := make(chan error)
	go func() {
		line := bytes.Repeat([]byte("x"), size)
		for n := range lines {
			if err := topic.Put(fmt.Append(nil, n), line); err != nil {
				done <- err
				return
			}
			put.Add(1)
		}
		done <- topic.Settle(t.Context())
	}()
	for was := int64(-1); put.Load() != was; time.Sleep(500 * time.Millisecond) {
		was = put.Load()
	}
	if n := put.Load(); n == 0 || n > mostBytes/size+1 {
		t.Errorf("%d lines of %d bytes were taken, which nobody has acknowledged", n, size)
	}
	close(goOn)
	if err := <-done; err != nil || put.Load() != lines {
		t.Errorf("%d lines went: %v", put.Load(), err)
	}
}
