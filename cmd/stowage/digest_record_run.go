package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"stowage/agent"
	"stowage/digest"
	"stowage/farm"
	"stowage/record"
	"stowage/session"
)

// recording is one run of `digest record`: windows on many machines, and what
// came of them.
type recording struct {
	a       *app
	d       *session.Session
	f       *recordFlags
	board   *agent.Switchboard  // nil: no target has an agent
	agents  *session.Handshakes // as board
	targets []recordTarget
	show    *recordingScreen

	mu      sync.Mutex
	sum     *digest.Digest
	results []record.Result
	errs    []error
	entries []*record.Entry // of those that agents record; nil for others
}

// record records the instances, side by side, and keeps one digest of all.
func (a *app) record(ctx context.Context, names []string, f *recordFlags) (recordSummary, error) {
	d, err := a.recordDesk(names, f.account)
	if err != nil {
		return recordSummary{}, err
	}
	defer d.Close()
	if d.Store == nil && !isDigestFile(f.digest.save) {
		return recordSummary{}, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: --save %s is a name, and there is no workspace here to keep it in", farm.ErrInput, f.digest.save),
			Hint: "name a file: --save " + f.digest.save + ".digest"}
	}
	targets, elsewhere, err := a.targets(ctx, d, names)
	if err != nil {
		return recordSummary{}, err
	}
	if len(elsewhere) > 0 {
		a.say("%d of %d instances run on other machines and are not recorded: run agents there, or stowage", len(elsewhere), len(elsewhere)+len(targets))
	}
	f.several = len(targets) > 1
	r := &recording{a: a, d: d, f: f, targets: targets, results: make([]record.Result, len(targets)), errs: make([]error, len(targets)), entries: make([]*record.Entry, len(targets))}
	if err := r.reachAgents(ctx); err != nil {
		return recordSummary{}, err
	}
	r.run(ctx)
	s := recordSummary{FormatVersion: 1, From: f.from, Save: f.digest.save, Instances: r.results, Elsewhere: elsewhere}
	if r.sum != nil {
		s.Events = r.sum.Events()
		if err := a.saveDigest(f.digest.save, r.sum); err != nil {
			return s, err // agents keep what they have
		}
	}
	r.settle(ctx)
	return s, a.notRecorded(r.errs)
}

// reachAgents opens the way to agents, when any is wanted.
func (r *recording) reachAgents(ctx context.Context) (err error) {
	for _, t := range r.targets {
		if t.agent == "" {
			continue
		}
		if r.f.Keep != "" {
			return &farm.Error{Op: "record", Subject: string(t.Instance), Err: fmt.Errorf("%w: --keep keeps packets, and those of %s stay on %s: only the digest comes from an agent", farm.ErrInput, t.Instance, t.agent),
				Hint: "leave --keep out, or run stowage on that host"}
		}
		if r.f.from == fromSlowLog && recordsAsAdmin(r.d) {
			r.a.say("the hosts of these agents learn the password of %s, who may do everything on every server; to avoid that, add a group [record] to the accounts file, with an account that may only record (docs/reference/privileges.md)", r.d.Admin.User)
		}
		if r.board, err = r.d.Board(ctx); err != nil {
			return err
		}
		r.agents = r.d.Handshakes(ctx, r.f.wait)
		return nil
	}
	return nil
}

// run records on all machines at once, and returns when all have ended. The
// windows open when all agents have answered, or some have not for too long:
// these are taken in when they come, for what is left of the windows.
func (r *recording) run(ctx context.Context) {
	machines := map[farm.HostName][]int{}
	for i, t := range r.targets {
		machines[t.agent] = append(machines[t.agent], i)
	}
	away := r.gather(ctx, machines)
	others := len(away) < len(machines)
	r.show = r.a.showRecording(len(r.targets), r.f)
	defer r.show.close()
	end := time.Now().Add(r.f.For)
	var all sync.WaitGroup
	for host, on := range machines {
		late := others && slices.Contains(away, host)
		until := time.Now()
		if late {
			until = end.Add(-shortestWindow)
		}
		all.Go(func() {
			if r.isThere(ctx, host, on, until) {
				r.onMachine(ctx, host, on, windowUntil(end, r.f.For, late))
			}
		})
	}
	all.Wait()
}

// windowUntil is how long the windows of a machine are.
func windowUntil(end time.Time, whole time.Duration, late bool) time.Duration {
	if late {
		return min(whole, max(shortestWindow, time.Until(end)))
	}
	return whole
}

// shortestWindow is what is still worth opening one for.
const shortestWindow = time.Second

// gather waits for the agents of these machines, and says which are away.
func (r *recording) gather(ctx context.Context, machines map[farm.HostName][]int) []farm.HostName {
	var hosts []farm.HostName
	for h := range machines {
		if h != "" {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	away := r.agents.Gather(ctx, hosts)
	if len(away) > 0 && len(away) < len(machines) {
		r.a.say("%d of %d agents have not answered yet; they are taken in when they do, for what is left of the window: %s", len(away), len(hosts), session.HostList(away))
	}
	return away
}

// isThere waits for the agent of a machine, and says of its instances when it
// does not come.
func (r *recording) isThere(ctx context.Context, host farm.HostName, on []int, until time.Time) bool {
	if host == "" {
		return true
	}
	_, err := r.agents.WaitUntil(ctx, host, until)
	if err == nil || ctx.Err() != nil { // what was interrupted says so by itself
		return true
	}
	for _, i := range on {
		r.ended(i, notBegun(r.targets[i].Target), nil, err)
	}
	return false
}

// onMachine records the targets of one machine.
func (r *recording) onMachine(ctx context.Context, host farm.HostName, on []int, window time.Duration) {
	take := r.here
	if host != "" {
		take = func(ctx context.Context, i int, t record.Target) (record.Result, *digest.Digest, error) {
			return r.through(ctx, i, t, window)
		}
	}
	targets := make([]record.Target, len(on))
	for n, i := range on {
		targets[n] = r.targets[i].Target
	}
	record.Each(ctx, targets, r.f.parallel, func(ctx context.Context, n int, t record.Target) {
		res, d, err := take(ctx, on[n], t)
		r.ended(on[n], res, d, err)
	})
}

func notBegun(t record.Target) record.Result {
	return record.Result{Instance: t.Instance, Address: t.Address, Stopped: record.StopFailed, SettingsRestored: []string{}}
}

// here records an instance of this machine.
func (r *recording) here(ctx context.Context, _ int, t record.Target) (record.Result, *digest.Digest, error) {
	x := r.a.recorder(r.d)
	x.Options, x.Progress = r.f.Options, r.show.add
	x.Options.Keep = record.KeepFor(r.f.Keep, t.Instance, r.f.several)
	x.Save = r.f.digest.save
	if r.f.from == fromNetwork {
		return x.Network(ctx, t)
	}
	return x.SlowLog(ctx, t)
}

// through has the agent of an instance's host record it, for so long.
func (r *recording) through(ctx context.Context, i int, t record.Target, window time.Duration) (record.Result, *digest.Digest, error) {
	x := r.a.recorder(r.d)
	x.Options, x.Progress = r.f.Options, r.show.add
	x.Options.For = window
	host := r.targets[i].agent
	before, _, err := r.a.fetchLeft(ctx, r.board, r.agents, r.d, t.Instance)
	if err != nil {
		return notBegun(t), nil, err
	}
	e, err := record.LedgerOf(x.Dir).Open(record.Ordered{Instance: t.Instance, Host: host, Address: t.Address, From: record.From(r.f.from), Save: r.f.digest.save, Begun: time.Now()})
	if err != nil {
		return notBegun(t), nil, err
	}
	r.mu.Lock()
	r.entries[i] = e
	r.mu.Unlock()
	res, d, err := x.Through(ctx, r.board.Host(host), e, t, recordAs(r.d, record.From(r.f.from), t.Address))
	if res.Seconds > 0 {
		res.Late = (r.f.For - window).Seconds()
	}
	if before.Note != "" {
		res.Notes = append(res.Notes, "an earlier recording had not been fetched: "+before.Note)
	}
	return res, d, err
}

// ended adds what came of one instance to what came of all.
func (r *recording) ended(i int, res record.Result, part *digest.Digest, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if part != nil && r.sum != nil {
		err = errors.Join(err, r.sum.Merge(part))
	} else if part != nil {
		r.sum = part
	}
	if r.results[i], r.errs[i] = res, err; err != nil {
		r.results[i].Error = err.Error()
	}
}

// settle tells the agents that everything is kept here.
func (r *recording) settle(ctx context.Context) {
	var all sync.WaitGroup
	for i, e := range r.entries {
		if e == nil {
			continue
		}
		all.Go(func() {
			defer e.Close()
			if err := record.Settle(ctx, r.board.Host(e.Host), e, r.errs[i]); err != nil {
				r.a.say("warning: %v", err)
			}
		})
	}
	all.Wait()
}
