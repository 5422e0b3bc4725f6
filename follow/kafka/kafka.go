// Package kafka hands the lines of package follow to a topic of Kafka.
//
// It answers: "has the topic everything before this position?" Its main type is Topic, a follow.Sink. A record's key is the table and the key of the row, its value the line: so all that
// becomes of one row is in one partition, in order. A topic of one partition has everything in order.
//
// Invariants: a record is written by an idempotent producer and acknowledged by all replicas in sync before Settle returns; a broker that is away is waited for, for as long as it takes,
// and said. A partition that has lost what it acknowledged ends the writing. Memory is bounded.
package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"stowage/farm"
)

// Topic is a topic that lines are written to.
type Topic struct {
	ctx     context.Context
	client  *kgo.Client
	name    string
	largest int // a batch that the topic takes
	tell    func(format string, args ...any)

	mu     sync.Mutex
	failed error // the first record that will never be acknowledged
}

const (
	// answerWithin is how long brokers may take to answer at the beginning.
	answerWithin = 15 * time.Second
	// patience is how long an acknowledgement is waited for in silence.
	patience = 10 * time.Second
	// What is on its way, at most; where it is more, Put waits. Less than kgo's own limit of records.
	mostRecords, mostBytes = 8000, 32 << 20
	// around is more than a record has around its key and value, with the head of its batch.
	around = 128
	// smallest is the least limit of a batch that kgo knows.
	smallest = 512
)

// Open reaches a topic, which must be there. ctx ends what waits for a broker; tell hears what it waits for, from several goroutines.
func Open(ctx context.Context, brokers []string, topic string, tell func(format string, args ...any)) (*Topic, error) {
	t := &Topic{ctx: ctx, name: topic, tell: tell}
	about := func(err error, hint string) error {
		return &farm.Error{Op: "reach topic " + topic, Subject: strings.Join(brokers, ","), Err: err, Hint: hint}
	}
	var hook dials
	var err error
	t.client, err = kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic), kgo.ClientID("stowage"), kgo.WithHooks(&hook),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchMaxBytesFn(func(string) int32 { return int32(max(t.largest, smallest)) }), kgo.StopProducerOnDataLossDetected())
	if err != nil {
		return nil, about(fmt.Errorf("%w: %w", farm.ErrInput, err), "--kafka HOST:PORT")
	}
	switch t.largest, err = reach(ctx, t.client, topic); {
	case errors.Is(err, errNoTopic):
		err = about(fmt.Errorf("%w: %w", farm.ErrInput, err), "create the topic first, with as many partitions as you need")
	case err != nil:
		err = about(err, "check that a broker runs there; it must answer in plain text, without a login")
	}
	if err != nil {
		t.client.Close()
		return nil, err
	}
	hook.tell.Store(&tell) // before, an error says it
	return t, nil
}

// Close lets the connections go. What was not settled may be lost.
func (t *Topic) Close() error {
	t.client.Close()
	return nil
}

// Put implements follow.Sink. It waits while more is on its way than memory is meant for. A line that is too large for the topic is refused,
// and nothing else is lost by that.
func (t *Topic) Put(key, line []byte) error {
	if size := len(key) + len(line) + around; size > t.largest {
		return t.tooLarge(string(key), size)
	}
	if t.client.BufferedProduceRecords() >= mostRecords || t.client.BufferedProduceBytes() >= mostBytes {
		if err := t.Settle(t.ctx); err != nil {
			return err
		}
	}
	if err := t.err(); err != nil {
		return err
	}
	// Not t.ctx: what was put before an interruption is still to be acknowledged.
	t.client.Produce(context.Background(), &kgo.Record{Key: bytes.Clone(key), Value: bytes.Clone(line)}, func(r *kgo.Record, err error) {
		if err != nil {
			t.fail(r, err)
		}
	})
	return nil
}

// Flush implements follow.Sink: records go by themselves.
func (t *Topic) Flush() error { return t.err() }

// Settle implements follow.Sink.
func (t *Topic) Settle(ctx context.Context) error {
	slow := time.AfterFunc(patience, func() {
		t.tell("topic %s has not acknowledged records for %.0f s: waiting; does its broker run, and are as many replicas in sync as min.insync.replicas asks for?", t.name, patience.Seconds())
	})
	defer slow.Stop()
	if err := t.client.Flush(ctx); err != nil {
		return err
	}
	return t.err()
}

// fail keeps why the first record failed.
func (t *Topic) fail(r *kgo.Record, err error) {
	said := &farm.Error{Op: "write to topic", Subject: t.name, Err: err, Hint: "start again with --state: lines that were not acknowledged are sent again"}
	switch {
	case errors.Is(err, kerr.MessageTooLarge): // the topic took more when it was opened
		said = t.tooLarge(string(r.Key), len(r.Key)+len(r.Value)+around)
	case errors.Is(err, kerr.OutOfOrderSequenceNumber), errors.Is(err, kerr.UnknownProducerID):
		said.Err = fmt.Errorf("%w: partition %d lost records that it had acknowledged: %w", farm.ErrOutcomeUnknown, r.Partition, err)
		said.Hint = "the consumer may lack changes: start again from a snapshot, or with --from before the loss and a new --state"
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		said.Err = fmt.Errorf("the topic is gone: %w", err)
		said.Hint = "create the topic, then start again with --state; a new topic lacks what the old one had"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = said
	}
}

func (t *Topic) tooLarge(key string, size int) *farm.Error {
	const most = 200
	if len(key) > most {
		key = key[:most] + "..."
	}
	return &farm.Error{Op: "write to topic", Subject: t.name, Err: fmt.Errorf("%w: the line for %s has %d bytes, and the topic takes %d", farm.ErrRefused, key, size, t.largest),
		Hint: "raise max.message.bytes of the topic, then start again with --state"}
}

func (t *Topic) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// dials says which brokers cannot be reached.
type dials struct{ tell tellers }

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (d *dials) OnBrokerConnect(b kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if tell := d.tell.Load(); tell != nil && err != nil && !errors.Is(err, context.Canceled) {
		(*tell)("broker %s does not answer: %v; waiting for it", net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), err)
	}
}
