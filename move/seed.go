package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/host"
)

// seedNote is written when a seed is complete, and says where it stands.
const seedNote = "stowage-seed.json"

type note struct {
	From     string         `json:"from"`
	Seed     host.SeedPoint `json:"seed"`
	Position string         `json:"position"`
	Bytes    int64          `json:"bytes"`
}

func (r *replacement) notePath() string { return filepath.Join(r.fresh.Dir(), seedNote) }

// seed copies the twin's data directory to the target. The twin, not the side
// itself: the side that is about to go has clients and may be the sick one.
func (r *replacement) seed(ctx context.Context) error {
	if err := r.freshHost.Claim(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if n, ok := r.readNote(ctx); ok {
		r.memory.Seed, r.memory.Position = n.Seed, n.Position
		return nil
	}
	// What is there is a copy that was cut short.
	if err := r.freshHost.Wipe(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if err := r.writeConfig(ctx); err != nil {
		return err
	}
	n := note{From: string(r.order.TwinInstance)}
	var err error
	if n.Bytes, err = r.stream(ctx); err != nil {
		return err
	}
	r.tell(farm.Event{Kind: farm.StepProgress, Text: "applying the copy's log", Bytes: n.Bytes, Total: n.Bytes})
	if n.Seed, err = r.freshHost.Prepare(ctx, r.fresh); err != nil {
		return err
	}
	at, err := r.Twin.PositionAt(ctx, n.Seed.File, n.Seed.Offset)
	if err != nil {
		return err
	}
	n.Position = at.String()
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := r.freshHost.WriteFile(ctx, r.notePath(), raw); err != nil {
		return err
	}
	r.memory.Seed, r.memory.Position = n.Seed, n.Position
	return nil
}

func (r *replacement) readNote(ctx context.Context) (note, bool) {
	var n note
	raw, err := r.freshHost.ReadFile(ctx, r.notePath())
	if err != nil || json.Unmarshal(raw, &n) != nil || n.Position == "" {
		return note{}, false
	}
	return n, true
}

// stream moves the copy from one host to the other and reports how far it is.
func (r *replacement) stream(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	counter := &counter{w: pw}
	sent := make(chan error, 1)
	go func() {
		login := host.Login{User: r.mover.Admin.User, Password: r.mover.Admin.Password, Address: r.twin.Dial()}
		err := r.twinHost.Send(ctx, r.twin, login, counter)
		pw.CloseWithError(err)
		sent <- err
	}()
	stop := r.reportBytes(ctx, counter)
	err := r.freshHost.Receive(ctx, r.fresh, pr)
	pr.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // a sender still at work gives up
	if sendErr := <-sent; sendErr != nil {
		err = errors.Join(sendErr, err)
	}
	stop()
	return counter.n.Load(), err
}

type counter struct {
	w io.Writer
	n atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	return n, err
}

func (r *replacement) reportBytes(ctx context.Context, c *counter) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.tell(farm.Event{Kind: farm.StepProgress, Text: "copying from " + string(r.order.TwinInstance),
					Bytes: c.n.Load(), Total: r.order.Move.Bytes})
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (r *replacement) removeSeed(ctx context.Context) error {
	return r.freshHost.Remove(ctx, r.fresh, r.owner())
}

// temporary are the options that a new instance has only until it serves.
var temporary = map[string]string{"read_only": "ON", "event_scheduler": "OFF", "skip_slave_start": "ON"}

// writeConfig derives the new instance's option file from that of the side it
// replaces: same domain, same auto-increment offset, same tuning; its own
// identity, address and paths.
func (r *replacement) writeConfig(ctx context.Context) error {
	text, err := r.oldHost.ReadFile(ctx, r.old.Config)
	if err != nil {
		return err
	}
	values := map[string]string{
		"server_id": strconv.FormatUint(uint64(r.order.Move.ServerID), 10),
		"port":      strconv.Itoa(r.fresh.Port), "bind_address": r.fresh.Address,
		"report_host": r.fresh.Address, "report_port": strconv.Itoa(r.fresh.Port),
		"datadir": r.fresh.Datadir, "socket": "mysqld.sock", // relative to datadir: 107 bytes are soon used up
		"pid_file": filepath.Join(r.fresh.Dir(), host.PidFile), "log_error": filepath.Join(r.fresh.Dir(), host.ErrorLog),
		"tmpdir": filepath.Join(r.fresh.Dir(), host.TempDir),
	}
	if _, ok := host.Option(string(text), host.ServerGroup(string(text)), "slow_query_log_file"); ok {
		values["slow_query_log_file"] = filepath.Join(r.fresh.Dir(), "slow.log")
	}
	for k, v := range temporary {
		values[k] = v
	}
	out := host.RewriteOptions(string(text), host.ServerGroup(string(text)), values)
	return r.freshHost.WriteFile(ctx, r.fresh.Config, []byte(out))
}

// settleConfig gives the new instance the options it shall start with from now
// on: what the old side had in place of the temporary ones.
func (r *replacement) settleConfig(ctx context.Context) error {
	was, err := r.oldHost.ReadFile(ctx, r.old.Config)
	if err != nil {
		return err
	}
	is, err := r.freshHost.ReadFile(ctx, r.fresh.Config)
	if err != nil {
		return err
	}
	values := map[string]string{}
	for k := range temporary {
		values[k], _ = host.Option(string(was), host.ServerGroup(string(was)), k)
	}
	out := host.RewriteOptions(string(is), host.ServerGroup(string(is)), values)
	if out == string(is) {
		return nil
	}
	return r.freshHost.WriteFile(ctx, r.fresh.Config, []byte(out))
}

// start starts the new instance and makes sure that it is who it should be.
func (r *replacement) start(ctx context.Context) error {
	const budget = 10 * time.Minute
	err := r.freshHost.Start(ctx, r.fresh, budget)
	if errors.Is(err, host.ErrPrepared) {
		// The copy was taken between the two phases of some commits. Nobody
		// was told of them by this copy; they come again by replication.
		r.tell(farm.Event{Kind: farm.StepProgress, Text: "rolling back transactions that were half committed in the copy"})
		if err = r.freshHost.RollbackPrepared(ctx, r.fresh); err == nil {
			err = r.freshHost.Start(ctx, r.fresh, budget)
		}
	}
	if err != nil {
		return err
	}
	return r.checkIdentity(ctx)
}

func (r *replacement) checkIdentity(ctx context.Context) error {
	vars, err := r.Returns.Variables(ctx, "server_id", "read_only", "datadir")
	if err != nil {
		return err
	}
	want := strconv.FormatUint(uint64(r.order.Move.ServerID), 10)
	if vars["server_id"] != want || filepath.Clean(vars["datadir"]) != filepath.Clean(r.fresh.Datadir) {
		return &farm.Error{Op: "start", Subject: string(r.fresh.Name),
			Err: fmt.Errorf("%w: at %s answers server_id %s with datadir %s, want %s and %s",
				farm.ErrRefused, r.fresh.Dial(), vars["server_id"], vars["datadir"], want, r.fresh.Datadir),
			Hint: "another server listens on the address the plan gives to the new instance"}
	}
	return nil
}

func (r *replacement) stopNew(ctx context.Context) error {
	return r.freshHost.Stop(ctx, r.fresh, 5*time.Minute)
}
