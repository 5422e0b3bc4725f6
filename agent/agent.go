package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// Machine is what an agent plays: this machine.
type Machine interface {
	host.Host
	host.Founder
}

// Recorder records what instances of this machine are asked, as orders say,
// which the agent passes on unread. An order that comes twice is carried out
// once; when ctx ends, a recording does, and puts its server back.
type Recorder interface {
	Record(ctx context.Context, order []byte, told func(string)) ([]byte, error)
	End(ctx context.Context, order []byte) error
	Read(id string, offset int64) ([]byte, error)
	Forget(id string) error
}

// Commander runs commands on this machine, each order once, as orders say, which the agent passes on unread. When ctx ends the command runs on. What an
// order wants, and what came of it, is text for the audit log.
type Commander interface {
	May(order []byte) (wants string, err error)
	Run(ctx context.Context, order []byte, told func(string)) (outcome []byte, came string, err error)
}

// Looker reads counters and settings of this machine, as questions say, which the agent passes on unread. It changes nothing.
type Looker interface {
	Look(ctx context.Context, question []byte) ([]byte, error)
}

// Options say how an agent runs.
type Options struct {
	Host   farm.HostName
	Engine string // host:port; dialled again and again, it may be away for days
	// Listen is where copies are served; Advertise what other agents dial,
	// when that is another address.
	Listen, Advertise string
	// Data holds the agent's lock, its audit log and what it must remember.
	Data      string
	Namespace string
	Version   string
	Identity  *Identity
	Machine   Machine
	Recorder  Recorder  // nil: this agent records nothing
	Looker    Looker    // nil: this agent reads no counters
	Commander Commander // nil: this agent runs no commands
	Log       *slog.Logger
}

// Agent carries out calls on one host.
type Agent struct {
	o      Options
	desk   *desk
	offers *offers
	audit  *audit
	listen net.Listener
}

const (
	// concurrency is how many calls run side by side; a copy holds one place
	// on each end for hours.
	concurrency = 64
	// WarnBefore is how long before its end a certificate is spoken of.
	WarnBefore = 30 * 24 * time.Hour
)

// New prepares an agent: its lock, its memory, its place to listen.
func New(o Options) (*Agent, error) {
	if o.Identity.Role != RoleHost || o.Identity.Name != string(o.Host) {
		return nil, &farm.Error{Op: "start agent", Subject: string(o.Host), Err: fmt.Errorf("%w: the certificate in %s is for %s %q", farm.ErrInput, o.Identity.Dir, o.Identity.Role, o.Identity.Name),
			Hint: "stowage agent certs " + string(o.Host) + ", where the farm is moved from; copy the directory it names to this host"}
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, &farm.Error{Op: "start agent", Subject: string(o.Host), Err: err}
	}
	if err := safefile.Trusted(o.Data); err != nil {
		return nil, &farm.Error{Op: "start agent", Subject: string(o.Host), Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "give it a directory that only its own user can write: --data"}
	}
	if err := lockDir(o.Data); err != nil {
		return nil, &farm.Error{Op: "start agent", Subject: string(o.Host), Err: err, Hint: "one agent serves a host"}
	}
	log, err := openAudit(filepath.Join(o.Data, auditFile), o.Log)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, &farm.Error{Op: "listen for copies", Subject: o.Listen, Err: err}
	}
	a := &Agent{o: o, audit: log, listen: l, offers: newOffers()}
	if a.desk, err = newDesk(o.Data); err != nil {
		return nil, err
	}
	if err := a.sayWhatIsListed(); err != nil {
		return nil, err
	}
	if o.Identity.revoked, err = openRevocations(filepath.Join(o.Data, revokedFile)); err != nil {
		return nil, err
	}
	return a, nil
}

// sayWhatIsListed refuses to begin with a list that cannot be read.
func (a *Agent) sayWhatIsListed() error {
	list, given, err := directoriesOf(a.o.Identity).read()
	if err == nil && !given {
		a.o.Log.Warn("there is no list of directories: this agent touches whatever a controller names, but for the system's own; stowage agent certs makes one", "file", string(directoriesOf(a.o.Identity)))
	} else if err == nil {
		a.o.Log.Info("directories", "list", list)
	}
	return err
}

// lockDir keeps a second agent away for as long as this process lives.
func lockDir(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "lock"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%w: another agent works with %s", farm.ErrRefused, dir)
	}
	return nil // the descriptor goes with the process, and the lock with it
}

// Address is where other agents find this one's copies.
func (a *Agent) Address() string {
	if a.o.Advertise != "" {
		return a.o.Advertise
	}
	return a.listen.Addr().String()
}

// Run serves until ctx ends. An engine that is not there is waited for.
func (a *Agent) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer a.audit.close()
	served := make(chan error, 1)
	stop := a.serveCopies(func(err error) { served <- err })
	defer stop()
	defer a.desk.stop()
	reminding, quit := context.WithCancel(ctx)
	defer quit()
	wg.Go(func() { a.remind(reminding) })
	a.o.Log.Info("agent is up", "host", a.o.Host, "engine", a.o.Engine, "copies", a.Address(), "certificate_expires", a.o.Identity.Expires().Format(time.DateOnly))
	for ctx.Err() == nil {
		lost := make(chan error, 1)
		go func() { lost <- a.attend(ctx) }()
		select {
		case err := <-served:
			return &farm.Error{Op: "serve copies", Subject: a.Address(), Err: err}
		case err := <-lost:
			if ctx.Err() != nil {
				return nil
			}
			a.o.Log.Info("the engine is away; trying again", "engine", a.o.Engine, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// remind speaks of a certificate that ends soon, every day: an agent runs for
// longer than that.
func (a *Agent) remind(ctx context.Context) {
	day := time.NewTicker(24 * time.Hour)
	defer day.Stop()
	for ctx.Err() == nil {
		if left := time.Until(a.o.Identity.Expires()); left < WarnBefore {
			a.o.Log.Warn("the certificate expires soon: stowage agent certs --renew", "expires", a.o.Identity.Expires().Format(time.DateOnly), "days", int(left.Hours()/24))
		}
		select {
		case <-ctx.Done():
		case <-day.C:
		}
	}
}

// attend serves the queue of this host until ctx ends or the worker does.
func (a *Agent) attend(ctx context.Context) error {
	how, err := a.o.Identity.EngineTLS(a.o.Engine)
	if err != nil {
		return err
	}
	c, err := engine.Dial(ctx, a.o.Engine, engine.Options{Namespace: a.o.Namespace, Log: a.o.Log, TLS: how})
	if err != nil {
		return err
	}
	defer c.Close()
	stop, fatal, err := c.Answer(Queue(a.o.Host), a.deliver, concurrency)
	if err != nil {
		return err
	}
	defer stop()
	a.o.Log.Info("serving", "queue", Queue(a.o.Host))
	select {
	case <-ctx.Done():
		return nil
	case err := <-fatal:
		return err
	}
}

// deliver takes one delivery of a call. A refusal is an answer; only a call
// that this process cannot bring to an end is given back.
func (a *Agent) deliver(ctx context.Context, d engine.Delivery) ([]byte, error) {
	if string(d.Request) == callHello {
		return a.o.Identity.sign(helloPurpose(a.o.Host, d.ID), encode(hello{Version: a.o.Version, Address: a.Address()}))
	}
	plain, from, err := a.o.Identity.open(askPurpose(a.o.Host, d.ID), d.Request, RoleController, "", time.Now())
	if errors.Is(err, errSealed) {
		return a.plainly(renewed, d.ID, "")
	}
	if err != nil {
		a.audit.refused(d.ID, err)
		a.o.Log.Warn("a call is refused", "id", d.ID, "error", err)
		return a.plainly(notTaken, d.ID, err.Error())
	}
	var q request
	if err := nested.Unmarshal(plain, &q); err != nil {
		return a.plainly(notTaken, d.ID, "read call: "+err.Error())
	}
	a.hear(d.ID, q)
	out, err := a.desk.join(ctx, d, q, func(ctx context.Context, r *running) answer {
		return a.carryOut(ctx, r, q, from.Subject.CommonName)
	})
	if err != nil {
		return nil, err
	}
	out.Of = q.bound(a.o.Host, d.ID)
	sealed, err := a.o.Identity.seal(answerPurpose(a.o.Host, d.ID), from, encode(out))
	if len(sealed) > engine.MaxCall {
		out = answer{Of: out.Of, Error: toWire(fmt.Errorf("%w: %w", farm.ErrRefused, &engine.CallTooLargeError{Bytes: len(sealed)}))}
		return a.o.Identity.seal(answerPurpose(a.o.Host, d.ID), from, encode(out))
	}
	return sealed, err
}

// hear takes in the certificates that are revoked, before anything is done.
func (a *Agent) hear(id string, q request) {
	added, err := a.o.Identity.revoked.add(q.Revoked)
	if err != nil {
		a.o.Log.Error("the list of revoked certificates is not on the disk", "error", err)
	}
	if added {
		all := a.o.Identity.revoked.list()
		a.o.Log.Warn("certificates are revoked", "all", len(all), "newest", all[len(all)-1].Host)
		a.audit.write(auditLine{Event: "revoked", Call: callHear, ID: id, Asker: q.Asker, Peer: string(all[len(all)-1].Host)})
	}
}

// carryOut runs a call, with a line in the audit log before and after.
func (a *Agent) carryOut(ctx context.Context, r *running, q request, by string) answer {
	start := time.Now()
	a.audit.begin(r.id, q, by)
	out, err := a.do(ctx, r, q)
	a.audit.end(r.id, q, by, time.Since(start), out, err)
	out.Error = toWire(err)
	return out
}

func (a *Agent) do(ctx context.Context, r *running, q request) (out answer, err error) {
	m := a.o.Machine
	if err := mayTouch(q, directoriesOf(a.o.Identity)); err != nil {
		return out, err
	}
	switch q.Call {
	case callClaim:
		return out, m.Claim(ctx, q.Instance, q.Owner)
	case callClaimable:
		return out, m.Claimable(ctx, q.Instance, q.Owner)
	case callWipe:
		return out, m.Wipe(ctx, q.Instance, q.Owner)
	case callRemove:
		return out, m.Remove(ctx, q.Instance, q.Owner)
	case callReadFile:
		out.Content, err = m.ReadFile(ctx, q.Path)
	case callWriteFile:
		return out, m.WriteFile(ctx, q.Path, q.Content)
	case callPrepare:
		out.Seed, err = m.Prepare(ctx, q.Instance)
	case callStart:
		return out, m.Start(ctx, q.Instance, q.Budget)
	case callNoteStart:
		return out, m.NoteStart(ctx, q.Instance)
	case callStartAgain:
		return out, m.StartAgain(ctx, q.Instance, q.Budget)
	case callRollbackPrepared:
		return out, m.RollbackPrepared(ctx, q.Instance)
	case callStop:
		return out, m.Stop(ctx, q.Instance, q.Budget)
	case callRetire:
		out.Retired, err = m.Retire(ctx, q.Instance, q.Budget, string(q.Content))
	case callRunning:
		var pid int
		pid, err = m.Running(ctx, q.Instance)
		out.Number = int64(pid)
	case callFreeBytes:
		out.Number, err = m.FreeBytes(ctx, q.Path)
	case callPortFree:
		out.Yes, err = m.PortFree(ctx, q.Address)
	case callOptions:
		out.Start, err = m.Options(ctx, q.Instance)
	case callFound:
		return out, m.Found(ctx, q.Instance, q.Content)
	case callSetUp:
		return out, m.SetUp(ctx, q.Instance, q.Content)
	case callHear:
		out.Number = int64(len(a.o.Identity.revoked.list()))
	case callOffer:
		out.Address = a.Address()
		return out, a.offer(q)
	case callPace:
		return out, a.pace(q)
	case callFetch:
		out.Copied, err = a.fetch(ctx, r, q)
	case callVault:
		out.Content, err = a.vault(ctx, q)
	case callBinlogs:
		out.Content, err = a.binlogs(ctx, r, q)
	case callMayCommand, callCommand:
		if a.o.Commander == nil {
			return out, a.unknown(q)
		}
		return a.command(ctx, r, q)
	case callLook:
		if a.o.Looker == nil {
			return out, a.unknown(q)
		}
		out.Content, err = a.o.Looker.Look(ctx, q.Content)
	default:
		if a.o.Recorder != nil {
			return a.record(ctx, r, q)
		}
		err = a.unknown(q)
	}
	return out, err
}

// record is do for the calls of a recording.
func (a *Agent) record(ctx context.Context, r *running, q request) (out answer, err error) {
	switch q.Call {
	case callRecord:
		out.Content, err = a.o.Recorder.Record(ctx, q.Content, func(text string) { r.progress.Store(text) })
	case callEndRecording:
		return out, a.o.Recorder.End(ctx, q.Content)
	case callReadRecording:
		out.Content, err = a.o.Recorder.Read(q.Recording, q.Offset)
	case callForgetRecording:
		return out, a.o.Recorder.Forget(q.Recording)
	default:
		err = a.unknown(q)
	}
	return out, err
}

// command is do for the calls of commands.
func (a *Agent) command(ctx context.Context, r *running, q request) (out answer, err error) {
	wants, err := a.o.Commander.May(q.Content)
	if err != nil || q.Call == callMayCommand {
		return out, err
	}
	a.audit.write(auditLine{Event: "command", Call: q.Call, ID: r.id, Asker: q.Asker, For: q.For, Text: wants})
	var came string
	out.Content, came, err = a.o.Commander.Run(ctx, q.Content, func(text string) { r.progress.Store(text) })
	if err == nil {
		a.audit.write(auditLine{Event: "command-ended", Call: q.Call, ID: r.id, Asker: q.Asker, For: q.For, Text: came})
	}
	return out, err
}

func (a *Agent) unknown(q request) error {
	return fmt.Errorf("%w: this agent, %s, knows no call %q", farm.ErrRefused, a.o.Version, q.Call)
}
