package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/mysql"
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
	flavor, err := r.Twin.Flavor(ctx)
	if err != nil {
		return err
	}
	if flavor.ClonesItself() {
		return r.seedByClone(ctx)
	}
	// What is there is a copy that was cut short.
	if err := r.freshHost.Wipe(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if err := r.writeConfig(ctx); err != nil {
		return err
	}
	n := note{From: string(r.order.TwinInstance)}
	if n.Bytes, err = r.stream(ctx); err != nil {
		return err
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: "applying the copy's log", Bytes: n.Bytes, Total: n.Bytes})
	if n.Seed, err = r.freshHost.Prepare(ctx, r.fresh); err != nil {
		return err
	}
	at, err := r.Twin.PositionAt(ctx, n.Seed.File, n.Seed.Offset)
	if err != nil {
		return err
	}
	n.Position = at.String()
	return r.writeNote(ctx, n)
}

// writeNote makes the seed complete: it is the last thing written.
func (r *replacement) writeNote(ctx context.Context, n note) error {
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
	if err != nil || nested.Unmarshal(raw, &n) != nil || n.Position == "" {
		return note{}, false
	}
	return n, true
}

// stream moves the copy from one host to the other, from agent to agent where
// both have one, and reports how far it is.
func (r *replacement) stream(ctx context.Context) (int64, error) {
	told := time.Time{}
	pace, done := r.mover.Throttle.Begin(ctx, []*mysql.Server{r.Twin, r.Leaves}, r.order.Move.To.Host, r.order.Twin.Host)
	defer done()
	copied := host.Copy{
		From: r.twinHost, Source: r.twin, To: r.freshHost, Target: r.fresh, Rate: pace.Rate,
		Login: backupLogin(r.mover.Backup, r.twin.Dial()),
		Moved: func(n int64) {
			pace.Moved(n)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			r.Report(farm.Event{Kind: farm.StepProgress, Text: "copying from " + string(r.order.TwinInstance) + slowed(pace), Bytes: n, Total: r.order.Move.Bytes})
		},
	}
	return copied.Run(ctx)
}

// backupLogin is what the source's host is told, and no more.
func backupLogin(as mysql.Account, address string) host.Login {
	as = as.At(address)
	out := host.Login{User: as.User, Password: as.Password, Address: address}
	if t := as.TLS; t != nil {
		out.CA, out.Cert, out.Key, out.AnyName = t.CA, t.Cert, t.Key, t.AnyName
	}
	return out
}

// slowed says why a copy is slower than it could be.
func slowed(p *act.Pace) string {
	if why := p.Why(); why != "" {
		return " at " + why + ";"
	}
	return ""
}

func (r *replacement) removeSeed(ctx context.Context) error {
	if err := r.stopHalfSeeded(ctx); err != nil {
		return err
	}
	return r.removeFresh(ctx, r.freshHost, r.fresh, r.owner())
}

// temporary are the options that a new instance has only until it serves.
var temporary = map[string]string{"read_only": "ON", "event_scheduler": "OFF", "skip_slave_start": "ON"}

// writeConfig derives the new instance's option file from what the side it
// replaces starts with: same domain, same auto-increment offset, same tuning but
// for what the new host's type says; its own identity, address and paths.
func (r *replacement) writeConfig(ctx context.Context) error {
	model, err := startOptions(ctx, r.oldHost, r.old)
	if err != nil {
		return fmt.Errorf("%w of %s: %w", act.ErrOptions, r.old.Name, err)
	}
	flavor, err := r.Twin.Flavor(ctx)
	if err != nil {
		return err
	}
	return r.freshHost.WriteFile(ctx, r.fresh.Config, freshOptions(model, flavor, r.fresh, r.order.Move.ServerID, r.order.Options))
}

// freshOptions is the option file of a new instance that nobody knows yet, after
// that of another: its own identity, address and paths, and what else is given.
func freshOptions(model string, flavor mysql.Flavor, i host.Instance, id uint32, more map[string]string) []byte {
	text := strings.ReplaceAll(model, unused, "")
	values := map[string]string{
		"server_id": strconv.FormatUint(uint64(id), 10),
		"port":      strconv.Itoa(i.Port), "bind_address": i.Address,
		"report_host": i.Address, "report_port": strconv.Itoa(i.Port),
		"datadir": i.Datadir, "socket": "mysqld.sock", // relative to datadir: 107 bytes are soon used up
		"pid_file": filepath.Join(i.Dir(), host.PidFile), "log_error": filepath.Join(i.Dir(), host.ErrorLog),
		"tmpdir": filepath.Join(i.Dir(), host.TempDir),
	}
	if _, ok := host.Option(text, host.ServerGroup(text), "slow_query_log_file"); ok {
		values["slow_query_log_file"] = filepath.Join(i.Dir(), "slow.log")
	}
	for k, v := range temporary {
		values[flavor.Option(k)] = v
	}
	maps.Copy(values, more)
	return []byte(unused + host.RewriteOptions(text, host.ServerGroup(text), values))
}

// unused is a line in the option file of a new instance that nobody knows yet.
const unused = "# stowage: not in rotation yet. This line and some options go before its first client.\n"

// settleConfig gives the new instance the options it shall start with from now
// on: what the old side had in place of the temporary ones, and no fence. It
// comes before the first client: a server that serves may die at any moment.
func (r *replacement) settleConfig(ctx context.Context) error {
	was, err := startOptions(ctx, r.oldHost, r.old)
	if err != nil {
		return err
	}
	return r.mover.edited.Edit(ctx, r.freshHost, r.fresh, func(is string) string { return settledOptions(host.UnfenceOptions(r.fresh, is), was) })
}

// settledOptions is an option file with what another has in place of the
// temporary options.
func settledOptions(is, was string) string {
	is = strings.ReplaceAll(is, unused, "")
	values := map[string]string{}
	for _, k := range temporaryOptions() {
		values[k], _ = host.Option(was, host.ServerGroup(was), k)
	}
	return host.RewriteOptions(is, host.ServerGroup(is), values)
}

// start starts the new instance and makes sure that it is who it should be.
func (r *replacement) start(ctx context.Context) error {
	const budget = 10 * time.Minute
	err := r.freshHost.Start(ctx, r.fresh, budget)
	if errors.Is(err, host.ErrPrepared) {
		// The copy was taken between the two phases of some commits. Nobody
		// was told of them by this copy; they come again by replication.
		r.Report(farm.Event{Kind: farm.StepProgress, Text: "rolling back transactions that were half committed in the copy"})
		if err = r.freshHost.RollbackPrepared(ctx, r.fresh); err == nil {
			err = r.freshHost.Start(ctx, r.fresh, budget)
		}
	}
	if err != nil {
		return err
	}
	return checkIdentity(ctx, r.Returns, r.fresh, r.order.Move.ServerID)
}

// checkIdentity makes sure that it is the new instance that answers where it was started, and no other.
func checkIdentity(ctx context.Context, server *mysql.Server, here host.Instance, id uint32) error {
	vars, err := server.Variables(ctx, "server_id", "datadir")
	if err != nil {
		return err
	}
	want := strconv.FormatUint(uint64(id), 10)
	if vars["server_id"] != want || filepath.Clean(vars["datadir"]) != filepath.Clean(here.Datadir) {
		return &farm.Error{Op: "start", Subject: string(here.Name),
			Err:  fmt.Errorf("%w: at %s answers server_id %s with datadir %s, want %s and %s", farm.ErrRefused, here.Dial(), vars["server_id"], vars["datadir"], want, here.Datadir),
			Hint: "another server listens on the address the plan gives to the new instance"}
	}
	return nil
}

func (r *replacement) stopNew(ctx context.Context) error {
	return r.freshHost.Stop(ctx, r.fresh, 5*time.Minute)
}
