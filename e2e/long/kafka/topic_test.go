package kafka

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"stowage/e2e/farmtest"
)

// topic is what a test asks of one: the test is its consumer.
type topic struct {
	t      *testing.T
	b      *broker
	name   string
	client *kgo.Client
	size   atomic.Int64 // as it was seen last
}

// create makes a topic.
func (b *broker) create(name string, partitions int32, settings map[string]string) *topic {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	must(b.t, err)
	b.t.Cleanup(client.Close)
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = name, partitions, 1
	for key, value := range settings {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, &value
		wanted.Configs = append(wanted.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, wanted)
	answer, err := request.RequestWith(limited(b.t), client)
	must(b.t, err)
	must(b.t, kerr.ErrorForCode(answer.Topics[0].ErrorCode))
	return &topic{t: b.t, b: b, name: name, client: client}
}

// set changes a setting of the topic.
func (p *topic) set(key, value string) {
	p.t.Helper()
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = key, &value
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, p.name
	resource.Configs = append(resource.Configs, config)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(limited(p.t), p.client)
	must(p.t, err)
	must(p.t, kerr.ErrorForCode(answer.Resources[0].ErrorCode))
}

// remove takes the topic away.
func (p *topic) remove() {
	p.t.Helper()
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames = []string{p.name}
	one := kmsg.NewDeleteTopicsRequestTopic()
	one.Topic = kmsg.StringPtr(p.name)
	request.Topics = append(request.Topics, one)
	answer, err := request.RequestWith(limited(p.t), p.client)
	must(p.t, err)
	must(p.t, kerr.ErrorForCode(answer.Topics[0].ErrorCode))
}

// ends are how many records each partition has had.
func (p *topic) ends(ctx context.Context) (map[int32]int64, error) {
	about := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = kmsg.StringPtr(p.name)
	about.Topics = append(about.Topics, one)
	known, err := about.RequestWith(ctx, p.client)
	if err != nil {
		return nil, err
	}
	wanted := kmsg.NewListOffsetsRequestTopic()
	wanted.Topic = p.name
	for _, partition := range known.Topics[0].Partitions {
		end := kmsg.NewListOffsetsRequestTopicPartition()
		end.Partition, end.Timestamp = partition.Partition, -1
		wanted.Partitions = append(wanted.Partitions, end)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	request.Topics = append(request.Topics, wanted)
	answer, err := request.RequestWith(ctx, p.client)
	if err != nil {
		return nil, err
	}
	ends := map[int32]int64{}
	for _, t := range answer.Topics {
		for _, partition := range t.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return nil, err
			}
			ends[partition.Partition] = partition.Offset
		}
	}
	if len(ends) == 0 {
		return nil, fmt.Errorf("topic %s has no partitions", p.name)
	}
	return ends, nil
}

// records is how many the topic has had, or how many it had while its broker does not answer.
func (p *topic) records() int64 {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
	defer cancel()
	if ends, err := p.ends(ctx); err == nil {
		sum := int64(0)
		for _, end := range ends {
			sum += end
		}
		p.size.Store(sum)
	}
	return p.size.Load()
}

// read gives all records, those of a partition in its order. A key that is in two partitions is a fault.
func (p *topic) read() []string {
	p.t.Helper()
	ctx := limited(p.t)
	ends, err := p.ends(ctx)
	must(p.t, err)
	reader, err := kgo.NewClient(kgo.SeedBrokers(p.b.address), kgo.ConsumeTopics(p.name), kgo.FetchMaxPartitionBytes(64<<20))
	must(p.t, err)
	defer reader.Close()
	left := int64(0)
	for _, end := range ends {
		left += end
	}
	var lines []string
	of, filled := map[string]int32{}, map[int32]bool{}
	for left > 0 {
		fetched := reader.PollFetches(ctx)
		must(p.t, fetched.Err(), left, "records were not read")
		fetched.EachRecord(func(r *kgo.Record) {
			left--
			lines = append(lines, string(r.Value))
			if was, seen := of[string(r.Key)]; seen && was != r.Partition {
				p.t.Fatalf("%s is in partitions %d and %d", r.Key, was, r.Partition)
			}
			of[string(r.Key)], filled[r.Partition] = r.Partition, true
		})
	}
	if len(filled) != len(ends) {
		p.t.Errorf("%d of %d partitions have records", len(filled), len(ends))
	}
	return lines
}

// lines is the topic as a follower's place to write to.
func (p *topic) lines() farmtest.Lines {
	ends, err := p.ends(limited(p.t))
	must(p.t, err)
	return farmtest.Lines{Name: p.name, Flags: []string{"--kafka", p.b.address, "--topic", p.name}, Size: p.records, Read: p.read, ByRow: len(ends) > 1}
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), farmtest.WaitLimit)
	t.Cleanup(cancel)
	return ctx
}
