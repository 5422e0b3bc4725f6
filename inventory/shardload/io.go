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
	howFiles = "operations on the schema's own files (performance_schema), with its part of the logs by transactions that write, of undo and doublewrite by pages written"
	howDisk  = howFiles + ", as the disk counted them"
)

// fileTraffic are operations by schema in two ways: with logs spread by commits, and by rows changed. nil where
// performance_schema does not say.
func (w Window) fileTraffic() (byCommits, byRows map[string]traffic) {
	if w.Last.Files == nil {
		return nil, nil
	}
	_, written, rows := w.pages()
	reads, own := weights{}, map[string]traffic{}
	for schema, f := range w.Last.Files {
		own[schema] = of(f.since(w.First.Files[schema]))
		reads[schema] = own[schema].reads
	}
	logs, rest := ofLogs(w.Last.Logs.since(w.First.Logs)), of(w.Last.Rest.since(w.First.Rest))
	forRest := first(written, rows)
	spread := func(forLogs weights) map[string]traffic {
		out := map[string]traffic{}
		for schema := range union(written, rows) {
			readPart := first(forRest, reads).part(schema)
			out[schema] = own[schema].plus(logs.part(readPart, forLogs.part(schema))).plus(rest.part(readPart, forRest.part(schema)))
		}
		return out
	}
	return spread(first(w.commits(), rows, written)), spread(first(rows, written))
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
