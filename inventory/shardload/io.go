package shardload

// traffic is what a schema reads and writes, with its part of what all share.
type traffic struct {
	reads, writes         float64
	logs                  float64 // writes of redo and binary log
	readBytes, writeBytes float64
}

func (t traffic) operations() float64 { return t.reads + t.writes + t.logs }
func (t traffic) bytes() float64      { return t.readBytes + t.writeBytes }

func (t traffic) plus(u traffic) traffic {
	return traffic{t.reads + u.reads, t.writes + u.writes, t.logs + u.logs, t.readBytes + u.readBytes, t.writeBytes + u.writeBytes}
}

// part is so much of the reads, and so much of the writes.
func (t traffic) part(reads, writes float64) traffic {
	return traffic{t.reads * reads, t.writes * writes, t.logs * writes, t.readBytes * reads, t.writeBytes * writes}
}

func of(f File) traffic {
	return traffic{reads: float64(f.Reads), writes: float64(f.Writes), readBytes: float64(f.ReadBytes), writeBytes: float64(f.WriteBytes)}
}

func ofLogs(f File) traffic {
	t := of(f)
	t.writes, t.logs = 0, t.writes
	return t
}

const (
	howFiles = "operations on the schema's own files (performance_schema), with its part of the logs and of undo by transactions that write, and of doublewrite by pages written"
	howDisk  = howFiles + ", as the disk counted them"
)

// fileTraffic are operations by schema in two ways: with logs and undo spread by transactions, and by rows and pages. nil where
// performance_schema does not say.
func (w Window) fileTraffic() (byTransactions, byRows map[string]traffic) {
	if w.Last.Files == nil {
		return nil, nil
	}
	_, written, rows := w.pages()
	own := map[string]traffic{}
	for schema, f := range w.Last.Files {
		own[schema] = of(f.since(w.First.Files[schema]))
	}
	logs, undo, doublewrite := ofLogs(w.Last.Logs.since(w.First.Logs)), of(w.Last.Rest.since(w.First.Rest)), traffic{}
	undo.writeBytes, doublewrite.writeBytes = splitRest(undo, sum(own))
	spread := func(forLogs, forUndo weights) map[string]traffic {
		reads := weights{}
		for schema, t := range own {
			reads[schema] = t.reads
		}
		out := map[string]traffic{}
		for schema := range union(written, rows, forLogs, forUndo) {
			readPart, part := first(forUndo, reads).part(schema), forUndo.part(schema)
			out[schema] = own[schema].plus(logs.part(readPart, forLogs.part(schema))).plus(undo.part(readPart, part))
		}
		pages := weights{}
		for schema := range out {
			pages[schema] = own[schema].writes + undo.writes*forUndo.part(schema)
		}
		for schema, t := range out {
			out[schema] = t.plus(doublewrite.part(0, pages.part(schema)))
		}
		return out
	}
	return spread(first(w.commits(), rows, written), first(w.undone(), rows, written)), spread(first(rows, written), first(written, rows))
}

// rowsOfUndo is how many rows a transaction changes until its old versions need a page more: 50 of 300 bytes fill one of 16 KiB.
const rowsOfUndo = 50

// undone is the work of each schema on undo pages: a transaction that writes takes some of its own, however few rows it changes, and
// purge reads them again. Measured on MariaDB 10.11 with data ten times the pool: 3.8 reads and 3.1 writes for a transaction of three rows, 4.0
// and 2.6 for one of one row. With 70 of the first a second and 40 of the second, the first had 62 % of the reads alone, and 84 % by pages
// written of the schemas' own files.
func (w Window) undone() weights {
	out := w.commits()
	if out.sum() == 0 {
		return nil
	}
	_, _, rows := w.pages()
	for schema, n := range rows {
		out[schema] += n / rowsOfUndo
	}
	return out
}

// splitRest takes the bytes of doublewrite, which are written many pages at a time, from those of undo, which are written by the page
// like tables: MariaDB 10.11 has both in one file.
func splitRest(rest, own traffic) (undo, doublewrite float64) {
	if own.writes == 0 {
		return rest.writeBytes, 0
	}
	undo = min(rest.writeBytes, rest.writes*own.writeBytes/own.writes)
	return undo, rest.writeBytes - undo
}

// sum is the traffic of all schemas.
func sum(all map[string]traffic) traffic {
	var out traffic
	for _, t := range all {
		out = out.plus(t)
	}
	return out
}

// scale is how many operations of the disk one operation of a server is: the kernel merges and splits them, and each
// flush of a log makes the file system write its journal.
type scale struct {
	reads, writes, logs float64
	alone               bool // nobody else uses the disk; else all are 1
}

func (s scale) apply(t traffic) traffic {
	return traffic{t.reads * s.reads, t.writes * s.writes, t.logs * s.logs, t.readBytes, t.writeBytes}
}

// notAlone is by how much a disk may move more, or less, than the processes on it say that they moved, for it to be theirs
// alone: the journal of a file system adds some.
const notAlone = 1.25

// asDisk compares what servers asked for with what their disk did. Whether the disk is theirs alone is judged by bytes.
// Writes beyond those of the servers are the journal's, and go with the logs.
func asDisk(servers traffic, processBytes float64, disk Disk) scale {
	s := scale{reads: 1, writes: 1, logs: 1}
	moved := float64(disk.ReadBytes + disk.WriteBytes)
	if disk.Name == "" || processBytes <= 0 || moved > processBytes*notAlone || moved < processBytes/notAlone {
		return s
	}
	s.alone = true
	if servers.reads > 0 {
		s.reads = float64(disk.Reads) / servers.reads
	}
	switch writes := float64(disk.Writes); {
	case writes > servers.writes+servers.logs && servers.logs > 0:
		s.logs = (writes - servers.writes) / servers.logs
	case servers.writes+servers.logs > 0:
		s.writes = writes / (servers.writes + servers.logs)
		s.logs = s.writes
	}
	return s
}
