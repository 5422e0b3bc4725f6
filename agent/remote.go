package agent

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
)

// Asking is how calls reach queues; *engine.Asker is it.
type Asking interface {
	Ask(ctx context.Context, queue, id string, request []byte, told func(string)) (answer []byte, gone bool, err error)
}

// Switchboard reaches every host of a farm that has an agent. One per program.
type Switchboard struct {
	asking Asking
	id     *Identity
	asker  string
	term   int64
	log    *slog.Logger
	// Alarm is told of answers that a host has not given; nil is fine. Set it
	// before the first call; it is called from any goroutine.
	Alarm func(on farm.HostName, call string, err error)

	mu    sync.Mutex
	hosts map[farm.HostName]*Remote
}

// NewSwitchboard makes one. asker says to people who asks; of two programs the
// one with the higher term has taken over from the other, see Term.
func NewSwitchboard(asking Asking, id *Identity, asker string, term int64, log *slog.Logger) (*Switchboard, error) {
	if id.Role != RoleController {
		return nil, &farm.Error{Op: "reach agents", Subject: id.Dir, Err: fmt.Errorf("%w: the certificate is for %s %q, not for the controller", farm.ErrInput, id.Role, id.Name)}
	}
	if left := time.Until(id.Expires()); left < WarnBefore {
		log.Warn("this program's certificate expires soon: stowage agent certs --renew", "expires", id.Expires().Format(time.DateOnly))
	}
	return &Switchboard{asking: asking, id: id, asker: asker, term: term, log: log, hosts: map[farm.HostName]*Remote{}}, nil
}

// Host is the host of that name. It need not answer just now.
func (s *Switchboard) Host(name farm.HostName) *Remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.hosts[name]
	if r == nil {
		r = &Remote{board: s, name: name, log: s.log.With("host", name)}
		s.hosts[name] = r
	}
	return r
}

// Remote is a machine with an agent. A call waits for as long as its context
// lets it while the agent is away.
type Remote struct {
	board *Switchboard
	name  farm.HostName
	log   *slog.Logger

	mu      sync.Mutex
	met     *x509.Certificate
	address string // where its copies are served
	givenUp []string
}

var (
	_ host.Host    = (*Remote)(nil)
	_ host.Fetcher = (*Remote)(nil)
	_ host.Founder = (*Remote)(nil)
)

// Meeting is what an agent says of itself.
type Meeting struct {
	Host    farm.HostName `json:"host"`
	Version string        `json:"version"`
	Address string        `json:"address"` // where copies are served
	Expires time.Time     `json:"certificate_expires"`
}

// Meet asks the agent who it is.
func (r *Remote) Meet(ctx context.Context) (Meeting, error) {
	id := callID()
	raw, _, err := r.board.asking.Ask(ctx, Queue(r.name), id, []byte(callHello), nil)
	if err != nil {
		return Meeting{}, r.unanswered(request{Call: callHello}, id, err)
	}
	plain, cert, err := r.board.id.signed(helloPurpose(r.name, id), raw, RoleHost, HostDNS(r.name), time.Now())
	var h hello
	if err == nil {
		err = nested.Unmarshal(plain, &h)
	}
	if err = forgery(err); errors.Is(err, ErrForged) {
		return Meeting{}, r.forged(request{Call: callHello}, id, err)
	}
	if err != nil {
		return Meeting{}, r.fail(callHello, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.met, r.address = cert, h.Address
	return Meeting{Host: r.name, Version: h.Version, Address: h.Address, Expires: cert.NotAfter}, nil
}

// Tell gives the agent the list of revoked certificates now, not with its next
// call, and returns how many it knows.
func (r *Remote) Tell(ctx context.Context) (int, error) {
	out, err := r.call(ctx, request{Call: callHear}, nil)
	return int(out.Number), err
}

func callID() string { return rand.Text() }

func (r *Remote) fail(call string, err error) error {
	e := &farm.Error{Op: call, Subject: "on " + string(r.name), Err: err}
	var large *engine.CallTooLargeError
	switch {
	case errors.Is(err, farm.ErrRefused):
		e.Hint = "its agent says why in its log; stowage agent status shows certificates"
	case errors.As(err, &large):
		e.Err = fmt.Errorf("%w: %w", farm.ErrRefused, err)
	case errors.Is(err, context.DeadlineExceeded):
		e.Hint = "does the agent run there, and can it reach the engine? stowage agent status"
	}
	return e
}

// known is the agent's certificate.
func (r *Remote) known(ctx context.Context) (*x509.Certificate, error) {
	r.mu.Lock()
	cert := r.met
	r.mu.Unlock()
	if cert != nil && r.board.id.revoked.check(cert) == nil {
		return cert, nil
	}
	if _, err := r.Meet(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.met, nil
}

// call asks one thing. A call whose agent has a new certificate is made again.
func (r *Remote) call(ctx context.Context, q request, told func(string)) (answer, error) {
	for try := 1; ; try++ {
		out, stale, err := r.once(ctx, q, told)
		if !stale || try == 3 {
			return out, err
		}
		r.mu.Lock()
		r.met = nil
		r.mu.Unlock()
	}
}

func (r *Remote) once(ctx context.Context, q request, told func(string)) (out answer, stale bool, err error) {
	cert, err := r.known(ctx)
	if err != nil {
		return out, false, err
	}
	id := callID()
	q.Asker, q.Term, q.Until = r.board.asker, r.board.term, time.Now().Add(callLife)
	if deadline, ok := ctx.Deadline(); ok {
		q.Until = deadline.Add(clockSkew)
	}
	q.GivenUp, q.Revoked, q.For = r.givenUpOn(), r.board.id.revoked.list(), engine.AttemptOf(ctx)
	box, err := r.board.id.seal(askPurpose(r.name, id), cert, encode(q))
	if err != nil {
		return out, false, r.fail(q.Call, err)
	}
	raw, gone, err := r.board.asking.Ask(ctx, Queue(r.name), id, box, told)
	if !gone || err != nil {
		r.giveUp(id) // whatever the engine says: only the agent knows that it has ended
	}
	if err != nil {
		return out, false, r.unanswered(q, id, err)
	}
	if _, ok, _ := r.board.id.said(renewed, r.name, id, raw, time.Now()); ok {
		return out, true, r.fail(q.Call, errSealed)
	}
	if out, err = r.board.id.unbind(q, r.name, id, raw, time.Now()); errors.Is(err, ErrForged) {
		r.giveUp(id)
		return out, false, r.forged(q, id, err)
	}
	r.settled(q.GivenUp)
	if err != nil {
		return out, false, r.fail(q.Call, err)
	}
	return out, false, out.Error.fromWire(r.name)
}

// unanswered is the error of a call to which nothing came back. A host signs
// its refusals: one that only the engine tells of is somebody else's.
func (r *Remote) unanswered(q request, id string, err error) error {
	if errors.Is(err, engine.ErrCallRefused) {
		return r.forged(q, id, fmt.Errorf("%w: a refusal that the host has not signed: %v", ErrForged, err))
	}
	return r.fail(q.Call, err)
}

// forged says loudly that somebody else answers for the host. None of this
// happens by itself, but for an agent of an older Stowage, which signs less.
func (r *Remote) forged(q request, id string, err error) error {
	r.mu.Lock()
	r.met = nil
	r.mu.Unlock()
	r.log.Error("refused: an answer that this host has not given", "call", q.Call, "id", id, "for", q.For, "error", err)
	if r.board.Alarm != nil {
		r.board.Alarm(r.name, q.Call, err)
	}
	return &farm.Error{Op: q.Call, Subject: "on " + string(r.name), Err: err,
		Hint: "is the agent of this Stowage's version (stowage agent status)? If it is, another program answers in its place: docs/reference/security.md"}
}

const (
	// callLife is how late a call without a deadline of its own may come.
	callLife = 24 * time.Hour
	// clockSkew is how far the clocks of two hosts may be apart.
	clockSkew = 10 * time.Minute
)

func (r *Remote) giveUp(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.givenUp = append(r.givenUp, id)
}

func (r *Remote) givenUpOn() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.givenUp)
}

// settled: a call that named these has been answered, so they have ended.
func (r *Remote) settled(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.givenUp = slices.DeleteFunc(r.givenUp, func(id string) bool { return slices.Contains(ids, id) })
}

// Claim implements host.Host.
func (r *Remote) Claim(ctx context.Context, i host.Instance, owner string) error {
	_, err := r.call(ctx, request{Call: callClaim, Instance: i, Owner: owner}, nil)
	return err
}

// Claimable implements host.Host.
func (r *Remote) Claimable(ctx context.Context, i host.Instance, owner string) error {
	_, err := r.call(ctx, request{Call: callClaimable, Instance: i, Owner: owner}, nil)
	return err
}

// Wipe implements host.Host.
func (r *Remote) Wipe(ctx context.Context, i host.Instance, owner string) error {
	_, err := r.call(ctx, request{Call: callWipe, Instance: i, Owner: owner}, nil)
	return err
}

// Remove implements host.Host.
func (r *Remote) Remove(ctx context.Context, i host.Instance, owner string) error {
	_, err := r.call(ctx, request{Call: callRemove, Instance: i, Owner: owner}, nil)
	return err
}

// ReadFile implements host.Host, for files of up to about a megabyte.
func (r *Remote) ReadFile(ctx context.Context, path string) ([]byte, error) {
	out, err := r.call(ctx, request{Call: callReadFile, Path: path}, nil)
	return out.Content, err
}

// WriteFile implements host.Host, for files of up to about a megabyte.
func (r *Remote) WriteFile(ctx context.Context, path string, content []byte) error {
	_, err := r.call(ctx, request{Call: callWriteFile, Path: path, Content: content}, nil)
	return err
}

// Send implements host.Host by refusing: the bytes of a copy never pass through
// this program. See Fetch.
func (r *Remote) Send(context.Context, host.Origin, io.Writer) error {
	return r.direct("send")
}

// Receive implements host.Host by refusing, as Send does.
func (r *Remote) Receive(context.Context, host.Destination, io.Reader) (host.Copied, error) {
	return host.Copied{}, r.direct("receive")
}

func (r *Remote) direct(what string) error {
	return &farm.Error{Op: what, Subject: "on " + string(r.name), Err: fmt.Errorf("%w: a copy goes from agent to agent", farm.ErrRefused),
		Hint: "run an agent on both hosts, and name both in farm.yaml"}
}

// Prepare implements host.Host.
func (r *Remote) Prepare(ctx context.Context, i host.Instance) (host.SeedPoint, error) {
	out, err := r.call(ctx, request{Call: callPrepare, Instance: i}, nil)
	return out.Seed, err
}

// Start implements host.Host.
func (r *Remote) Start(ctx context.Context, i host.Instance, budget time.Duration) error {
	_, err := r.call(ctx, request{Call: callStart, Instance: i, Budget: budget}, nil)
	return err
}

// NoteStart implements host.Host.
func (r *Remote) NoteStart(ctx context.Context, i host.Instance) error {
	_, err := r.call(ctx, request{Call: callNoteStart, Instance: i}, nil)
	return err
}

// StartAgain implements host.Host.
func (r *Remote) StartAgain(ctx context.Context, i host.Instance, budget time.Duration) error {
	_, err := r.call(ctx, request{Call: callStartAgain, Instance: i, Budget: budget}, nil)
	return err
}

// RollbackPrepared implements host.Host.
func (r *Remote) RollbackPrepared(ctx context.Context, i host.Instance) error {
	_, err := r.call(ctx, request{Call: callRollbackPrepared, Instance: i}, nil)
	return err
}

// Stop implements host.Host.
func (r *Remote) Stop(ctx context.Context, i host.Instance, budget time.Duration) error {
	_, err := r.call(ctx, request{Call: callStop, Instance: i, Budget: budget}, nil)
	return err
}

// Retire implements host.Host.
func (r *Remote) Retire(ctx context.Context, i host.Instance, budget time.Duration, note string) (host.Retired, error) {
	out, err := r.call(ctx, request{Call: callRetire, Instance: i, Budget: budget, Content: []byte(note)}, nil)
	return out.Retired, err
}

// Running implements host.Host.
func (r *Remote) Running(ctx context.Context, i host.Instance) (int, error) {
	out, err := r.call(ctx, request{Call: callRunning, Instance: i}, nil)
	return int(out.Number), err
}

// FreeBytes implements host.Host.
func (r *Remote) FreeBytes(ctx context.Context, dir string) (int64, error) {
	out, err := r.call(ctx, request{Call: callFreeBytes, Path: dir}, nil)
	return out.Number, err
}

// PortFree implements host.Host.
func (r *Remote) PortFree(ctx context.Context, address string) (bool, error) {
	out, err := r.call(ctx, request{Call: callPortFree, Address: address}, nil)
	return out.Yes, err
}

// Options implements host.Host.
func (r *Remote) Options(ctx context.Context, i host.Instance) (host.Start, error) {
	out, err := r.call(ctx, request{Call: callOptions, Instance: i}, nil)
	return out.Start, err
}

// Found implements host.Founder.
func (r *Remote) Found(ctx context.Context, i host.Instance, setup []byte) error {
	_, err := r.call(ctx, request{Call: callFound, Instance: i, Content: setup}, nil)
	return err
}

// SetUp implements host.Founder.
func (r *Remote) SetUp(ctx context.Context, i host.Instance, setup []byte) error {
	_, err := r.call(ctx, request{Call: callSetUp, Instance: i, Content: setup}, nil)
	return err
}

// Fetch implements host.Fetcher: this host's agent gets the copy from the agent
// of the other host.
func (r *Remote) Fetch(ctx context.Context, c host.Copy) (host.Copied, error) {
	from, ok := c.From.(*Remote)
	if !ok {
		return host.Copied{}, r.direct("fetch copy")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	token, rate := rand.Text()+rand.Text(), int64(-1)
	if c.Rate != nil {
		rate = max(-1, c.Rate())
	}
	fetch := request{Call: callFetch, Target: c.Target, From: from.name, Token: token}
	if from == r {
		fetch.Origin, fetch.Rate = c.Origin, rate
	} else {
		offer, err := from.call(ctx, request{Call: callOffer, Origin: c.Origin, To: r.name, Token: token, Rate: rate}, nil)
		if err != nil {
			return host.Copied{}, err
		}
		fetch.Address = offer.Address
	}
	var moved atomic.Int64
	set := make(chan int64, 1)
	var pacing sync.WaitGroup
	pacing.Go(func() { from.keepPace(ctx, token, set) })
	done := c.Watch(ctx, moved.Load, func(rate int64) {
		select { // only the newest counts
		case <-set:
		default:
		}
		set <- rate
	})
	out, err := r.call(ctx, fetch, func(text string) {
		number, _, _ := strings.Cut(text, " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			moved.Store(n)
		}
	})
	cancel()
	done()
	pacing.Wait()
	if err == nil && c.Moved != nil {
		c.Moved(out.Copied.Bytes)
	}
	return out.Copied, err
}

// keepPace passes changes of the rate on.
func (r *Remote) keepPace(ctx context.Context, token string, set <-chan int64) {
	for {
		select {
		case <-ctx.Done():
			return
		case rate := <-set:
			if _, err := r.call(ctx, request{Call: callPace, Token: token, Rate: rate}, nil); err != nil && ctx.Err() == nil {
				r.log.Warn("a copy's rate is not changed", "rate", rate, "error", err)
			}
		}
	}
}
