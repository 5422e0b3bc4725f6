package survey

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/inventory/shardload"
	"stowage/tune/probe"
)

// Place is a machine whose counters are read.
type Place interface {
	// Usage are the counters of its instances. Those that could not be read are in Faults.
	Usage(ctx context.Context, of []host.Instance) (Answer, error)
	// Threads are the CPU times of their threads.
	Threads(ctx context.Context, of []host.Instance) (Answer, error)
	// Settings are the files that tune's rules read, as probe.Write takes them.
	Settings(ctx context.Context) (map[string]string, error)
}

// Answer is what a machine says.
type Answer struct {
	Usage   map[farm.InstanceName]shardload.Process `json:"usage,omitempty"`
	Threads map[farm.InstanceName]map[int]float64   `json:"threads,omitempty"`
	Faults  map[farm.InstanceName]string            `json:"faults,omitempty"`
	Files   map[string]string                       `json:"files,omitempty"`
}

// Here is this machine.
type Here struct{ Machine *host.Local }

// Usage implements Place.
func (h Here) Usage(ctx context.Context, of []host.Instance) (Answer, error) {
	out := Answer{Usage: map[farm.InstanceName]shardload.Process{}, Faults: map[farm.InstanceName]string{}}
	for _, i := range of {
		p, err := h.Machine.Usage(ctx, i)
		if err != nil {
			out.Faults[i.Name] = err.Error()
			continue
		}
		out.Usage[i.Name] = p
	}
	return out, ctx.Err()
}

// Threads implements Place.
func (h Here) Threads(ctx context.Context, of []host.Instance) (Answer, error) {
	out := Answer{Threads: map[farm.InstanceName]map[int]float64{}}
	for _, i := range of {
		if t, err := h.Machine.Threads(ctx, i); err == nil {
			out.Threads[i.Name] = t
		}
	}
	return out, ctx.Err()
}

// Settings implements Place.
func (Here) Settings(ctx context.Context) (map[string]string, error) {
	tree := probe.Machine()
	tree.Record()
	probe.Read(ctx, tree, host.Ask, nil)
	return tree.Kept(), ctx.Err()
}

// question is what a Station is asked.
type question struct {
	Version int             `json:"version"`
	Of      string          `json:"of"` // "usage", "threads", "settings"
	About   []host.Instance `json:"about,omitempty"`
}

const version = 1

// Station answers questions on the machine it runs on. An agent is handed one.
type Station struct{ Here }

// Look answers one question.
func (s Station) Look(ctx context.Context, raw []byte) ([]byte, error) {
	var q question
	if err := nested.Unmarshal(raw, &q); err != nil {
		return nil, fmt.Errorf("%w: read question: %w", farm.ErrInput, err)
	}
	if q.Version != version {
		return nil, fmt.Errorf("%w: this agent reads questions of version %d, not %d", farm.ErrRefused, version, q.Version)
	}
	var out Answer
	var err error
	switch q.Of {
	case "usage":
		out, err = s.Usage(ctx, q.About)
	case "threads":
		out, err = s.Threads(ctx, q.About)
	case "settings":
		out.Files, err = s.Settings(ctx)
	default:
		err = fmt.Errorf("%w: this agent knows no question %q", farm.ErrRefused, q.Of)
	}
	if err != nil {
		return nil, err
	}
	return pack(out)
}

// Far is another machine, on which a Station answers. An agent plays it (agent.Remote).
type Far interface {
	Look(ctx context.Context, question []byte) ([]byte, error)
}

// There is a machine that is reached through its agent.
type There struct{ Far Far }

// Usage implements Place.
func (t There) Usage(ctx context.Context, of []host.Instance) (Answer, error) {
	return t.ask(ctx, question{version, "usage", of})
}

// Threads implements Place.
func (t There) Threads(ctx context.Context, of []host.Instance) (Answer, error) {
	return t.ask(ctx, question{version, "threads", of})
}

// Settings implements Place.
func (t There) Settings(ctx context.Context) (map[string]string, error) {
	a, err := t.ask(ctx, question{Version: version, Of: "settings"})
	return a.Files, err
}

func (t There) ask(ctx context.Context, q question) (Answer, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	if raw, err = t.Far.Look(ctx, raw); err != nil {
		return Answer{}, err
	}
	return unpack(raw)
}

// pack compresses: a machine's settings are a megabyte of text, and a message through the engine is not much larger.
func pack(a Answer) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(a); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// largest is more than any answer has.
const largest = 64 << 20

func unpack(raw []byte) (Answer, error) {
	var a Answer
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return a, fmt.Errorf("%w: read answer: %w", farm.ErrInput, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, largest))
	if err == nil {
		err = nested.Unmarshal(text, &a)
	}
	if err != nil {
		return a, fmt.Errorf("%w: read answer: %w", farm.ErrInput, err)
	}
	return a, nil
}
