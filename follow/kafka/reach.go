package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type tellers = atomic.Pointer[func(format string, args ...any)]

var errNoTopic = errors.New("the topic cannot be written to")

const (
	usualLargest = 1 << 20  // what a topic takes that nobody asked about or changed
	mostLargest  = 90 << 20 // brokers take requests of 100 MB
)

// reach waits for a broker to answer, and asks it what the topic takes.
func reach(ctx context.Context, client *kgo.Client, topic string) (largest int, err error) {
	asked, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		now := exists(asked, client, topic)
		if now == nil {
			return takes(asked, client, topic), nil
		}
		if err == nil || !errors.Is(now, context.DeadlineExceeded) { // the time that is up is not why
			err = now
		}
		if errors.Is(err, errNoTopic) {
			return 0, err
		}
		select {
		case <-asked.Done():
			return 0, errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func exists(ctx context.Context, client *kgo.Client, topic string) error {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, one)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if len(answer.Topics) != 1 {
		return errors.New("the broker's answer does not name the topic")
	}
	if err := kerr.ErrorForCode(answer.Topics[0].ErrorCode); err != nil {
		if kerr.IsRetriable(err) && !errors.Is(err, kerr.UnknownTopicOrPartition) { // it has no leader yet
			return err
		}
		return fmt.Errorf("%w: %w", errNoTopic, err)
	}
	return nil
}

// takes is the largest batch that the topic takes; a broker that does not say so to everybody leaves it at what is usual.
func takes(ctx context.Context, client *kgo.Client, topic string) int {
	const setting = "max.message.bytes"
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{setting}
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, client)
	if err != nil || len(answer.Resources) != 1 {
		return usualLargest
	}
	for _, c := range answer.Resources[0].Configs {
		if c.Name != setting || c.Value == nil {
			continue
		}
		if n, err := strconv.Atoi(*c.Value); err == nil {
			return min(n, mostLargest)
		}
	}
	return usualLargest
}
