package shardload

import "fmt"

// cpu is what an instance's CPU time is made of, in seconds.
type cpu struct {
	process float64 // by the process's own counter; 0: not known
	// connections is the time of threads while they served sessions in a schema.
	connections weights
	nobody      float64 // sessions without a schema, Stowage's own among them
	background  float64 // threads that never served a session, and those of replication
	lost        float64 // threads that served sessions too short to be seen
	threads     bool    // the three above are known
}

// seen is what was found at threads.
func (c cpu) seen() float64 { return c.connections.sum() + c.nobody + c.background + c.lost }

// threadTime books the CPU time of threads on the schemas whose sessions they served. Between two looks at it, a thread
// belongs to a session that had it at both, in the same schema; what it did between two sessions is lost, and counted.
func (w Window) threadTime() cpu {
	c := cpu{connections: weights{}}
	if w.Begin == nil || w.End == nil {
		return c
	}
	c.process = w.End.CPU - w.Begin.CPU
	if w.Last.Pooled || len(w.Ticks) < 2 {
		return c
	}
	served := map[int]bool{}
	for _, t := range w.Ticks {
		for _, x := range t.Connections {
			served[x.Thread] = !x.Own || served[x.Thread]
		}
	}
	known := false
	for i := 1; i < len(w.Ticks); i++ {
		before, now := w.Ticks[i-1], w.Ticks[i]
		was, is := before.byThread(), now.byThread()
		known = known || len(is) > 0
		for thread, seconds := range now.Threads {
			took := seconds - before.Threads[thread]
			if took <= 0 {
				continue
			}
			a, hadOne := was[thread]
			b, hasOne := is[thread]
			switch {
			case !served[thread]:
				c.background += took
			case hadOne && hasOne && a.ID == b.ID && a.Schema == b.Schema:
				if a.Schema == "" {
					c.nobody += took
				} else {
					c.connections[a.Schema] += took
				}
			default:
				c.lost += took
			}
		}
	}
	c.threads = known && c.seen() > 0
	return c
}

func (t Tick) byThread() map[int]Connection {
	out := make(map[int]Connection, len(t.Connections))
	for _, x := range t.Connections {
		if x.Thread != 0 {
			out[x.Thread] = x
		}
	}
	return out
}

// seenByDigests is the part of all statements that digests have.
func (w Window) seenByDigests() float64 {
	digested, prepared := grown(w.Last.Digested, w.First.Digested), grown(w.Last.Prepared, w.First.Prepared)
	if digested+prepared == 0 {
		return 0
	}
	return float64(digested) / float64(digested+prepared)
}

// fullySeen is the part of statements that digests must have for statement time to stand for all.
const fullySeen = 0.95

// statementTime is the time of statements by schema; nil where digests do not see enough of them.
func (w Window) statementTime() (time, cpu weights) {
	if w.Last.Statements == nil || w.seenByDigests() < fullySeen {
		return nil, nil
	}
	time, cpu = weights{}, weights{}
	for schema, s := range w.Last.Statements {
		d := s.since(w.First.Statements[schema])
		if schema == "" {
			continue
		}
		time[schema] = d.Seconds
		cpu[schema] = d.CPU
	}
	return time, cpu
}

// pages are reads and writes of each schema's own files; rows the rows it changed.
func (w Window) pages() (work, written, rows weights) {
	work, written, rows = weights{}, weights{}, weights{}
	for schema, f := range w.Last.Files {
		d := f.since(w.First.Files[schema])
		work[schema] = float64(d.Reads) + writeCost*float64(d.Writes)
		written[schema] = float64(d.Writes)
	}
	for schema, r := range w.Last.Rows {
		rows[schema] = float64(r.since(w.First.Rows[schema]).Changed)
	}
	return work, written, rows
}

// commits are the transactions with writes of each schema. What a replica applied is spread by the rows it changed.
func (w Window) commits() weights {
	out, applied := weights{}, 0.0
	for id, c := range w.Last.Commits {
		n := c.transactions(w.First.Commits[id])
		switch {
		case c.Own:
			applied += n
		case c.Schema != "":
			out[c.Schema] += n
		}
	}
	_, _, rows := w.pages()
	if applied > 0 {
		for schema := range rows {
			out[schema] += applied * rows.part(schema)
		}
	}
	return out
}

// writeCost is the CPU time that a page written takes of the threads that serve the server, in pages read: it goes through
// the doublewrite buffer, and its old versions are purged. A guess that the interval of each figure allows for.
const writeCost = 2

// cpuFigures are CPU seconds by schema, split into what sessions used and what the server did for them.
func (w Window) cpuFigures() (total, sessions map[string]Figure, c cpu, lack Lack) {
	c = w.threadTime()
	time, exact := w.statementTime()
	work, written, rows := w.pages()
	commits := w.commits()
	switch {
	case c.threads && c.connections.sum() > 0 && c.lost < 0.5*c.process:
		// Measured on MariaDB 10.11 with data ten times the pool: the server's own threads work for transactions that write
		// (purge, flushing); reads alone cost them next to nothing.
		background := first(commits, rows, work, c.connections)
		ways := []weights{background}
		for _, other := range []weights{rows, written, work} {
			if other.sum() > 0 && c.background > 0 {
				ways = append(ways, other)
			}
		}
		// What was not seen at threads is spread as what was.
		scale := 1.0
		if own := c.seen() - c.lost; own > 0 && c.process > own {
			scale = c.process / own
		}
		how := fmt.Sprintf("CPU of the threads that serve sessions in this schema, and its part of the server's own threads (%.0f %%); %.0f %% of the process's CPU was seen at threads",
			100*c.background/max(c.seen(), 1e-9), 100*(c.seen()-c.lost)/max(c.process, 1e-9))
		total, sessions = map[string]Figure{}, map[string]Figure{}
		for schema := range union(c.connections, background) {
			var values []float64
			for _, way := range ways {
				values = append(values, scale*(c.connections[schema]+c.background*way.part(schema)))
			}
			if background.sum() == c.connections.sum() && commits.sum()+work.sum()+rows.sum() == 0 { // nothing says whose work the server did
				values = append(values, scale*c.connections[schema], values[0]+scale*c.background*background.part(schema))
			}
			f := figure(values[0], how, values...)
			if scale > 1.25 {
				f = f.atMost(Fair)
			}
			total[schema] = f
			sessions[schema] = figure(scale*c.connections[schema], "CPU of the threads that serve sessions in this schema")
		}
		return total, sessions, c, lack
	case exact.sum() > 0:
		total = scaled(exact, max(c.process, exact.sum()), "CPU time of statements by schema (performance_schema)", Good)
		return total, total, c, lack
	case time.sum() > 0 && c.process > 0:
		total = scaled(time, c.process, "the process's CPU, spread by the time that statements of each schema took; waits count as work", Fair)
		return total, total, c, lack
	}
	return nil, nil, c, w.noCPU(time)
}

// scaled spreads an amount by weights.
func scaled(by weights, amount float64, how string, sure Sureness) map[string]Figure {
	out := map[string]Figure{}
	off := map[Sureness]float64{Good: 0.1, Fair: 0.25}[sure]
	for schema := range by {
		v := amount * by.part(schema)
		out[schema] = figure(v, how, v*(1-off), v*(1+off)).atMost(sure)
	}
	return out
}

func (w Window) noCPU(time weights) Lack {
	switch {
	case w.Begin == nil || w.End == nil:
		return Lack{"CPU: " + orElse(w.NoProcess.Why, "the machine's counters were not read"), orElse(w.NoProcess.Remedy, "an agent on that host: docs/guide/agents.md")}
	case w.threadTime().process <= 0:
		return Lack{"the process used no CPU time that its counter shows", "a longer window: --for 10m"}
	case w.Last.Pooled:
		return Lack{"thread_handling is pool-of-threads, so that threads are no sessions, and digests do not see enough of the statements", "performance_schema=ON and statements that the client does not prepare on the server"}
	case w.threadTime().threads && w.threadTime().lost == 0:
		return Lack{"no session in a schema was seen running a statement", "measure while the farm is in use"}
	case w.Last.Statements == nil && len(w.Ticks) < 2:
		return w.Last.Without["statements"]
	}
	return Lack{fmt.Sprintf("sessions were too short to be seen, and digests have %.0f %% of the statements: MariaDB's leave out prepared ones", 100*w.seenByDigests()),
		"clients that keep their connections, or that do not prepare statements on the server"}
}

func union(all ...weights) map[string]bool {
	out := map[string]bool{}
	for _, w := range all {
		for k := range w {
			out[k] = true
		}
	}
	return out
}
