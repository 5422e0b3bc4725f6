// Package kafka hands the lines of package follow to a topic of Kafka.
//
// It answers: "has the topic everything before this position?" Its main type is Topic, a follow.Sink. A record's key is the table and the key of the row, its value the line: so all that
// becomes of one row is in one partition, in order. A topic of one partition has everything in order.
//
// Invariants: a record is written by an idempotent producer and acknowledged by all replicas in sync before Settle returns; a broker that is away is waited for, for as long as it takes.
package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"stowage/farm"
)

// Topic is a topic that lines are written to.
type Topic struct {
	ctx    context.Context
	client *kgo.Client

	mu     sync.Mutex
	failed error // the first record that will never be acknowledged
}

// answerWithin is how long brokers may take to answer at the beginning.
const answerWithin = 15 * time.Second

// Open reaches a topic, which must be there. ctx ends what waits for a broker.
func Open(ctx context.Context, brokers []string, topic string) (*Topic, error) {
	about := func(err error, hint string) error {
		return &farm.Error{Op: "reach topic " + topic, Subject: strings.Join(brokers, ","), Err: err, Hint: hint}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic), kgo.ClientID("stowage"),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return nil, about(fmt.Errorf("%w: %w", farm.ErrInput, err), "--kafka HOST:PORT")
	}
	asked, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	request.Topics = append(request.Topics, kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr(topic)})
	answer, err := request.RequestWith(asked, client)
	switch {
	case err != nil:
		err = about(err, "check that a broker runs there; it must answer in plain text, without a login")
	case len(answer.Topics) != 1:
		err = about(errors.New("the broker's answer does not name it"), "")
	case kerr.ErrorForCode(answer.Topics[0].ErrorCode) != nil:
		err = about(fmt.Errorf("%w: %w", farm.ErrInput, kerr.ErrorForCode(answer.Topics[0].ErrorCode)), "create the topic first, with as many partitions as you need")
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return &Topic{ctx: ctx, client: client}, nil
}

// Close lets the connections go. What was not settled may be lost.
func (t *Topic) Close() error {
	t.client.Close()
	return nil
}

// Put implements follow.Sink. It waits while more is on its way than memory is meant for.
func (t *Topic) Put(key, line []byte) error {
	if err := t.err(); err != nil {
		return err
	}
	t.client.Produce(t.ctx, &kgo.Record{Key: bytes.Clone(key), Value: bytes.Clone(line)}, func(_ *kgo.Record, err error) {
		if err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.failed == nil {
				t.failed = &farm.Error{Op: "write to topic", Subject: t.client.OptValue(kgo.DefaultProduceTopic).(string), Err: err, Hint: "start again with --state: lines that were not acknowledged are sent again"}
			}
		}
	})
	return nil
}

// Flush implements follow.Sink: records go by themselves.
func (t *Topic) Flush() error { return t.err() }

// Settle implements follow.Sink.
func (t *Topic) Settle(ctx context.Context) error {
	if err := t.client.Flush(ctx); err != nil {
		return err
	}
	return t.err()
}

func (t *Topic) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}
