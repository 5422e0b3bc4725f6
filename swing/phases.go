package swing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// Handover sends clients from where they are served to somewhere else, in phases. It is done as a whole, or taken back: a side that swings,
// a writer that changes and a shard that moves differ in their phases only.
type Handover struct {
	// Within runs one phase between its borders.
	Within func(ctx context.Context, name string, do func(context.Context) error) error
	// Ready is what can be waited for while clients notice nothing. Nil: nothing.
	Ready func(context.Context) error
	// Hold bounds the phases together, for clients are held meanwhile; 0: each has a bound of its own.
	Hold   time.Duration
	Phases []Phase
	// Back takes back what was done before Ready or a phase failed, which is its error. Its context is not bounded by Hold.
	Back func(ctx context.Context, why error) error
}

// Phase is one part of a handover. The program may be killed before and after it.
type Phase struct {
	Name string
	Do   func(context.Context) error
	Skip bool
}

// Run does the phases in order. When one fails no other begins, and what was done is taken back; the error is of both.
func (h Handover) Run(ctx context.Context) (err error) {
	defer func() {
		if err != nil && h.Back != nil {
			err = errors.Join(err, h.Back(ctx, err))
		}
	}()
	if h.Ready != nil {
		if err := h.Ready(ctx); err != nil {
			return err
		}
	}
	bounded := ctx
	if h.Hold > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, h.Hold)
		defer cancel()
	}
	for _, p := range h.Phases {
		if p.Skip {
			continue
		}
		if err := h.Within(bounded, p.Name, p.Do); err != nil {
			return err
		}
	}
	return nil
}

// Clients are those of a handover, where they write.
type Clients struct {
	On []*mysql.Server
	// Foreign is the moment before which work on a server is not theirs; zero, or nil: not known, and all is waited for.
	Foreign func(context.Context, *mysql.Server) (time.Time, error)
	Subject string // for messages
}

func (c Clients) foreign(ctx context.Context, on *mysql.Server) (time.Time, error) {
	if c.Foreign == nil {
		return time.Time{}, nil
	}
	return c.Foreign(ctx, on)
}

// workOpen is the error of work that has not ended in time.
type workOpen string

func (w workOpen) Error() string { return string(w) }

// AwaitNoLongWork waits, with the gate open, until no transaction is open that would keep it closed for long. Clients notice nothing
// of that wait. told is told whom it waits for.
func (c Clients) AwaitNoLongWork(ctx context.Context, s Settings, told func(text string)) error {
	for deadline := time.Now().Add(s.Patience); ; {
		var open []string
		for _, server := range c.On {
			foreign, err := c.foreign(ctx, server)
			if err != nil {
				return err
			}
			long, err := server.LongWorkSince(ctx, foreign, s.Long)
			if err != nil {
				return err
			}
			for _, b := range long {
				open = append(open, fmt.Sprintf("%s on %s", b, server.Name()))
			}
		}
		if len(open) == 0 {
			return nil
		}
		text := fmt.Sprintf("%d sessions hold work open, the first: %s", len(open), open[0])
		if time.Now().After(deadline) {
			return &farm.Error{Op: "wait for long work", Subject: c.Subject, Err: workOpen(text),
				Hint: "nothing has been changed for this; end the long transaction, it will be tried again"}
		}
		told(text)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Drain waits until the work has ended that was open when the gate closed, on all servers at once; at most Settings.Drain. settle is how
// late a client may come that looked just before. Servers do not tell whose a transaction is: on one that serves others, too, work of theirs
// that begins later is not waited for.
func (c Clients) Drain(ctx context.Context, s Settings, settle time.Duration) error {
	errs := make([]error, len(c.On))
	var wg sync.WaitGroup
	for i, server := range c.On {
		wg.Go(func() {
			foreign, err := c.foreign(ctx, server)
			if err != nil {
				errs[i] = err
				return
			}
			left, err := server.QuiesceSince(ctx, foreign, settle, s.Drain)
			if err == nil && len(left) > 0 {
				err = &farm.Error{Op: "drain", Subject: string(server.Name()),
					Err:  workOpen(fmt.Sprintf("%s still hold work open after %v, the first: %s", farm.Counted(len(left), "session"), s.Drain, left[0])),
					Hint: "nothing has changed, and clients go on where they were; wait for the long transaction or end it, it will be tried again"}
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
