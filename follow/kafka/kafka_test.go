package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

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
	topic, err := Open(t.Context(), c.ListenAddrs(), "files")
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
	_, err := Open(t.Context(), c.ListenAddrs(), "folders")
	if !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "create the topic first") {
		t.Errorf("a topic that is not there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Open(ctx, []string{"127.0.0.1:1"}, "files"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a broker that is not there: %v", err)
	}
}

// What was not acknowledged is said, and not taken for settled.
func TestNothingIsSettledThatIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	ctx, stop := context.WithCancel(t.Context())
	topic, err := Open(ctx, c.ListenAddrs(), "files")
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	c.Close() // all brokers are gone
	if err := topic.Put([]byte("k"), []byte("lost")); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := topic.Settle(short); err == nil {
		t.Error("a record that no broker has is settled")
	}
	stop()
	long, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := topic.Settle(long); err == nil {
		t.Error("a record that was given up is settled")
	}
}
