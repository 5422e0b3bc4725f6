package swing

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

const (
	mostReads    = 400                    // of a round
	atFirst      = time.Second / 10       // no read in this time: too few to judge by, so no second is spent on them
	sampledFirst = time.Second / 4        // the same where a look finds only what runs at that moment
	roundOf      = 2 * time.Second        // in which they are collected, unless they are too few
	readAtMost   = time.Second            // then the server cuts a read off: a report is no sample of what clients wait for
	twinShare    = 0.25                   // of the time at most, the twin works for us
	twinAtLeast  = 500 * time.Millisecond // of work before that counts
)

// meetTwin sends reads that the twin was asked just now to the side, for the first time, and to
// the twin again, until the side is as fast. A statement of an earlier round says nothing any
// more: its pages are here since. Each round also brings in pages that clients use.
//
// The sessions are READ ONLY and only queries are sent that change, lock and wait for nothing.
func (s *Swing) meetTwin(ctx context.Context) error {
	began := time.Now()
	watch, err := traffic.OpenReads(ctx, s.Twin)
	if err != nil {
		return s.unjudged(ctx, err.Error())
	}
	defer watch.Close()
	if !watch.CanSee() {
		return s.unjudged(ctx, "performance_schema keeps no history of statements on the twin")
	}
	both, err := openReaders(ctx, s.Returns, s.Twin)
	if err != nil {
		return s.unjudged(ctx, err.Error())
	}
	defer both.close()

	first, looked := atFirst, "a tenth of a second"
	if watch.IsSampled() {
		first, looked = sampledFirst, "a quarter of a second"
	}
	reads, err := watch.Gather(ctx, mostReads, min(first, s.Settings.WarmLimit))
	if err == nil && len(reads) > 0 {
		var more []traffic.Read
		more, err = watch.Gather(ctx, mostReads-len(reads), min(time.Second-first, s.Settings.WarmLimit))
		reads, looked = append(reads, more...), "a second"
	}
	if err != nil {
		return s.unjudged(ctx, err.Error())
	}
	if len(reads)*10 < s.Settings.WarmReads {
		return s.unjudged(ctx, fmt.Sprintf("%s of clients in %s, seen in %s", farm.Counted(len(reads), "read"), looked, watch.Source()))
	}
	for {
		more, err := s.gather(ctx, watch, len(reads), began)
		if err != nil {
			return s.unjudged(ctx, err.Error())
		}
		w, err := s.compare(ctx, both, append(reads, more...), began)
		if err != nil {
			return s.unjudged(ctx, err.Error())
		}
		late := time.Since(began) > s.Settings.WarmLimit
		switch {
		case w.isWarm(s.Settings):
			s.measured("warm", fmt.Sprintf("warm: %s; seen in %s", w, watch.Source()))
			return nil
		case w.isFull(s.Settings):
			s.measured("warm", fmt.Sprintf("slower than its twin, and not for want of pages: %s, %s from disk; seen in %s", w, farm.Counted(w.misses, "page"), watch.Source()))
			return nil
		case late && len(w.here) < s.Settings.WarmReads:
			return s.unjudged(ctx, fmt.Sprintf("%s in %s, %d are needed%s", farm.Counted(len(w.here), "read"), s.Settings.WarmLimit, s.Settings.WarmReads, both.refused()))
		case late:
			s.measured("warm", fmt.Sprintf("not warm after %s: %s; it returns as it is", s.Settings.WarmLimit, w))
			return nil
		}
		s.tell(farm.StepWaiting, "warm", "not warm yet: "+w.String(), 0)
		reads = nil
	}
}

// compare is a round, with the pages that the side read from disk meanwhile. Those that its applier reads count, too: it is called full later then, never earlier.
func (s *Swing) compare(ctx context.Context, both *readers, reads []traffic.Read, began time.Time) (*warmth, error) {
	before, err := s.Returns.PoolMisses(ctx)
	if err != nil {
		return nil, err
	}
	w, err := both.compare(ctx, reads, began)
	if err != nil {
		return nil, err
	}
	after, err := s.Returns.PoolMisses(ctx)
	w.misses = after - before
	return w, err
}

// gather collects reads for a round, until there are enough with those it has or the time is over.
func (s *Swing) gather(ctx context.Context, watch *traffic.Reads, had int, began time.Time) (reads []traffic.Read, err error) {
	for len(reads) == 0 || had+len(reads) < s.Settings.WarmReads {
		more, err := watch.Gather(ctx, mostReads-had-len(reads), roundOf)
		if err != nil {
			return nil, err
		}
		reads = append(reads, more...)
		if time.Since(began) > s.Settings.WarmLimit || had+len(reads) >= mostReads {
			break
		}
	}
	return reads, nil
}

// unjudged says that reads cannot tell whether the side is warm, and why. Then its pages have to do.
func (s *Swing) unjudged(ctx context.Context, why string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p, err := s.pools(ctx)
	if err == nil {
		s.measured("warm", fmt.Sprintf("too few reads to compare with the twin (%s): by its pages, %d here and %d on the twin", why, p.have, p.twin))
	}
	return err
}

// readers send the same reads to the side and to its twin, over a connection each.
type readers struct {
	here, twin  reader
	twinWorked  time.Duration
	refusals    int
	firstRefuse string
}

// reader is one of the connections.
type reader struct {
	client *traffic.Client
	db     string
	way    time.Duration // there and back
}

func openReaders(ctx context.Context, here, twin *mysql.Server) (*readers, error) {
	r := &readers{}
	for _, x := range []struct {
		into   *reader
		server *mysql.Server
	}{{&r.here, here}, {&r.twin, twin}} {
		var err error
		if *x.into, err = openReader(ctx, x.server); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

func openReader(ctx context.Context, server *mysql.Server) (r reader, err error) {
	r.client, err = traffic.OpenClient(ctx, server, traffic.ClientOptions{ReadOnly: true, Longest: readAtMost})
	for n := 0; err == nil && n < 5; n++ {
		var way time.Duration
		if way, err = r.client.RoundTrip(ctx); n == 0 || way < r.way {
			r.way = way
		}
	}
	if err != nil && r.client != nil {
		_ = r.client.Close() // it is of no use
		r.client = nil
	}
	return r, err
}

func (r *readers) close() {
	for _, x := range []reader{r.here, r.twin} {
		if x.client != nil {
			_ = x.client.Close() // nothing is open on it
		}
	}
}

// compare sends each read to the side first, then to the twin. When the twin has spent its share of time on these reads,
// the rest goes to the side alone, to bring in its pages.
func (r *readers) compare(ctx context.Context, reads []traffic.Read, began time.Time) (*warmth, error) {
	w := &warmth{}
	for _, read := range reads {
		here, refused, err := r.here.send(ctx, read)
		if err != nil {
			return w, err
		}
		busy := r.twinWorked > twinAtLeast+time.Duration(twinShare*float64(time.Since(began)))
		if refused != "" || busy {
			r.refuse(refused)
			continue
		}
		twin, refused, err := r.twin.send(ctx, read)
		if err != nil {
			return w, err
		}
		r.twinWorked += twin
		if refused != "" {
			r.refuse(refused)
			continue
		}
		w.add(here-r.here.way, twin-r.twin.way)
	}
	return w, nil
}

func (r *readers) refuse(why string) {
	if why == "" {
		return
	}
	if r.refusals++; r.firstRefuse == "" {
		r.firstRefuse = why
	}
}

// refused says how many reads a server did not answer.
func (r *readers) refused() string {
	if r.refusals == 0 {
		return ""
	}
	return fmt.Sprintf("; %s refused, the first: %s", farm.Counted(r.refusals, "read"), r.firstRefuse)
}

// cutOff are the errors of a statement that took too long, of MariaDB and MySQL.
const cutOff, cutOffMySQL = 1969, 3024

// send says how long a read took, or why the server refused it. One that is cut off took that long.
func (r *reader) send(ctx context.Context, read traffic.Read) (took time.Duration, refused string, err error) {
	if read.DB != "" && read.DB != r.db {
		a, err := r.client.Use(ctx, read.DB)
		if err != nil || a.Code != 0 {
			return 0, a.Text, err
		}
		r.db = read.DB
	}
	a, err := r.client.Query(ctx, read.Text, false)
	if err != nil || a.Code != 0 && a.Code != cutOff && a.Code != cutOffMySQL {
		return a.Took, a.Text, err
	}
	return a.Took, "", nil
}
