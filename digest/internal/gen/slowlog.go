// Package gen writes captures of made-up traffic, for tests and measurements: the statements and header lines of a
// sysbench oltp_read_write run as MariaDB 10.11 logs it with log_slow_verbosity=query_plan,innodb (417 bytes an event,
// one eighth of them statement text). Equal seeds give equal bytes.
package gen

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// SlowLog says what traffic to write.
type SlowLog struct {
	Seed      uint64
	Events    int     // how many to write
	PerSecond int     // default 5000
	Tables    int     // default 16
	Threads   int     // default 4
	Slower    float64 // factor on all latencies; 0 means 1
	Start     int64   // unix seconds; default 1795300000
}

// Write writes the log and returns how many events of each statement kind it holds.
func (s SlowLog) Write(w io.Writer) (map[string]int, error) {
	s.defaults()
	out := bufio.NewWriterSize(w, 1<<20)
	fmt.Fprint(out, "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:\nTcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n")
	r := rand.New(rand.NewPCG(s.Seed, 5))
	kinds := map[string]int{}
	steps := make([]int, s.Threads)
	last := int64(0)
	mood := 0.0
	line := make([]byte, 0, 1024)
	for i := range s.Events {
		at := s.Start + int64(i/s.PerSecond)
		thread := r.IntN(s.Threads)
		k := transaction[steps[thread]%len(transaction)]
		steps[thread]++
		line = line[:0]
		if at != last {
			mood = 0.5*mood + 0.1*r.NormFloat64()
			line = time.Unix(at, 0).UTC().AppendFormat(line, "# Time: 060102 15:04:05\n")
			last = at
		}
		us := k.micros * math.Exp(0.4*r.NormFloat64()+mood)
		if s.Slower != 0 {
			us *= s.Slower
		}
		line = k.header(line, r, thread+9, us)
		line = fmt.Appendf(line, "SET timestamp=%d;\n", at)
		line = k.text(line, r, s.Tables)
		line = append(line, ";\n"...)
		kinds[k.name]++
		if _, err := out.Write(line); err != nil {
			return kinds, fmt.Errorf("write slow log: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return kinds, fmt.Errorf("write slow log: %w", err)
	}
	return kinds, nil
}

func (s *SlowLog) defaults() {
	if s.PerSecond == 0 {
		s.PerSecond = 5000
	}
	if s.Tables == 0 {
		s.Tables = 16
	}
	if s.Threads == 0 {
		s.Threads = 4
	}
	if s.Start == 0 {
		s.Start = 1795300000
	}
}

// kind is one statement of the transaction.
type kind struct {
	name     string
	micros   float64
	examined int
	sent     int
	plan     bool // the server adds the Full_scan and Filesort lines
	engine   bool // and those of the storage engine
	text     func(b []byte, r *rand.Rand, tables int) []byte
}

func table(r *rand.Rand, tables int) int { return 1 + r.IntN(tables) }

func digits(b []byte, r *rand.Rand, groups int) []byte {
	for i := range groups {
		if i > 0 {
			b = append(b, '-')
		}
		b = fmt.Appendf(b, "%011d", r.Int64N(99999999999))
	}
	return b
}

var (
	begin = kind{"begin", 25, 0, 0, false, false, func(b []byte, _ *rand.Rand, _ int) []byte { return append(b, "BEGIN"...) }}
	point = kind{"point", 80, 1, 1, false, true, func(b []byte, r *rand.Rand, n int) []byte {
		return fmt.Appendf(b, "SELECT c FROM sbtest%d WHERE id=%d", table(r, n), r.IntN(50000))
	}}
	simple = kind{"range", 150, 100, 100, true, true, func(b []byte, r *rand.Rand, n int) []byte {
		id := r.IntN(50000)
		return fmt.Appendf(b, "SELECT c FROM sbtest%d WHERE id BETWEEN %d AND %d", table(r, n), id, id+99)
	}}
	sum = kind{"sum", 120, 100, 1, true, true, func(b []byte, r *rand.Rand, n int) []byte {
		id := r.IntN(50000)
		return fmt.Appendf(b, "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN %d AND %d", table(r, n), id, id+99)
	}}
	ordered = kind{"order", 200, 200, 100, true, true, func(b []byte, r *rand.Rand, n int) []byte {
		id := r.IntN(50000)
		return fmt.Appendf(b, "SELECT c FROM sbtest%d WHERE id BETWEEN %d AND %d ORDER BY c", table(r, n), id, id+99)
	}}
	distinct = kind{"distinct", 250, 200, 100, true, true, func(b []byte, r *rand.Rand, n int) []byte {
		id := r.IntN(50000)
		return fmt.Appendf(b, "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN %d AND %d ORDER BY c", table(r, n), id, id+99)
	}}
	update = kind{"update", 180, 1, 0, false, true, func(b []byte, r *rand.Rand, n int) []byte {
		return fmt.Appendf(b, "UPDATE sbtest%d SET k=k+1 WHERE id=%d", table(r, n), r.IntN(50000))
	}}
	updateText = kind{"update text", 190, 1, 0, false, true, func(b []byte, r *rand.Rand, n int) []byte {
		b = fmt.Appendf(b, "UPDATE sbtest%d SET c='", table(r, n))
		b = digits(b, r, 10)
		return fmt.Appendf(b, "' WHERE id=%d", r.IntN(50000))
	}}
	remove = kind{"delete", 170, 1, 0, false, true, func(b []byte, r *rand.Rand, n int) []byte {
		return fmt.Appendf(b, "DELETE FROM sbtest%d WHERE id=%d", table(r, n), r.IntN(50000))
	}}
	insert = kind{"insert", 160, 0, 0, false, true, func(b []byte, r *rand.Rand, n int) []byte {
		b = fmt.Appendf(b, "INSERT INTO sbtest%d (id, k, c, pad) VALUES (%d, %d, '", table(r, n), r.IntN(50000), r.IntN(50000))
		b = digits(b, r, 10)
		b = append(b, "', '"...)
		b = digits(b, r, 5)
		return append(b, "')"...)
	}}
	commit = kind{"commit", 900, 0, 0, false, false, func(b []byte, _ *rand.Rand, _ int) []byte { return append(b, "COMMIT"...) }}
)

// transaction is one turn of sysbench oltp_read_write: twenty statements.
var transaction = []kind{begin, point, point, point, point, point, point, point, point, point, point,
	simple, sum, ordered, distinct, update, updateText, remove, insert, commit}

func (k kind) header(b []byte, r *rand.Rand, thread int, us float64) []byte {
	b = fmt.Appendf(b, "# User@Host: sb[sb] @ localhost [127.0.0.1]\n# Thread_id: %d  Schema: sbtest  QC_hit: No\n", thread)
	whole := max(1, int(us))
	b = fmt.Appendf(b, "# Query_time: %d.%06d  Lock_time: 0.%06d  Rows_sent: %d  Rows_examined: %d\n", whole/1000000, whole%1000000, min(whole/10, 20), k.sent, k.examined)
	affected := 0
	if k.sent == 0 && k.engine {
		affected = 1
	}
	b = fmt.Appendf(b, "# Rows_affected: %d  Bytes_sent: %d\n", affected, 11+k.sent*124)
	if k.engine {
		b = fmt.Appendf(b, "# Pages_accessed: %d  Pages_read: 0  Pages_prefetched: 0  Pages_updated: %d  Old_rows_read: 0\n# Pages_read_time: 0.0000  Engine_time: %.4f\n",
			3+r.IntN(4), affected, us/4000)
	}
	if k.plan {
		tmp := "No"
		if k.name == "distinct" {
			tmp = "Yes"
		}
		sort := "No"
		if k.name == "distinct" || k.name == "order" {
			sort = "Yes"
		}
		b = fmt.Appendf(b, "# Full_scan: No  Full_join: No  Tmp_table: %s  Tmp_table_on_disk: No\n# Filesort: %s  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n", tmp, sort)
	}
	return b
}
