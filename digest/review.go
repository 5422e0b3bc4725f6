package digest

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// The tables in which pt-query-digest keeps classes (--review) and what became of them over time (--history), and which
// Anemometer shows. Written are statements of SQL; read is what `mysql -B -e 'SELECT * FROM ...'` prints.

// ReviewTables are the names of the two tables, which may have a database in front.
type ReviewTables struct{ Review, History string }

const createReview = "CREATE TABLE IF NOT EXISTS %s (checksum CHAR(32) NOT NULL PRIMARY KEY, fingerprint TEXT NOT NULL, sample TEXT NOT NULL,\n" +
	" first_seen DATETIME, last_seen DATETIME, reviewed_by VARCHAR(20), reviewed_on DATETIME, comments TEXT);\n"

const createHistory = "CREATE TABLE IF NOT EXISTS %s (checksum CHAR(32) NOT NULL, sample TEXT NOT NULL, ts_min DATETIME, ts_max DATETIME, ts_cnt FLOAT,\n" +
	" Query_time_sum FLOAT, Query_time_min FLOAT, Query_time_max FLOAT, Query_time_pct_95 FLOAT, Query_time_stddev FLOAT, Query_time_median FLOAT,\n" +
	" Lock_time_sum FLOAT, Rows_sent_sum FLOAT, Rows_examined_sum FLOAT, Rows_affected_sum FLOAT, Bytes_sum FLOAT,\n" +
	" PRIMARY KEY (checksum, ts_min, ts_max));\n"

// WriteReview writes the statements that put the classes into the tables. They can be run again: a class is there once, and a
// window of it once. Classes that were never seen at a known time have no window.
func (l *Listing) WriteReview(w io.Writer, t ReviewTables) error {
	out := bufio.NewWriter(w)
	review, history := sqlName(t.Review), sqlName(t.History)
	fmt.Fprint(out, "SET NAMES utf8mb4;\nSET SESSION sql_mode = '';\nSET SESSION time_zone = '+00:00';\n")
	fmt.Fprintf(out, createReview, review)
	fmt.Fprintf(out, createHistory, history)
	for c := range l.Classes() {
		first, last := sqlTime(c.FirstSeen), sqlTime(c.LastSeen)
		fmt.Fprintf(out, "INSERT INTO %s (checksum, fingerprint, sample, first_seen, last_seen) VALUES ('%s', %s, %s, %s, %s)\n"+
			" ON DUPLICATE KEY UPDATE first_seen = LEAST(COALESCE(first_seen, VALUES(first_seen)), COALESCE(VALUES(first_seen), first_seen)),"+
			" last_seen = GREATEST(COALESCE(last_seen, VALUES(last_seen)), COALESCE(VALUES(last_seen), last_seen));\n",
			review, c.ID32, sqlText(c.Fingerprint), sqlText(c.Example.Query), first, last)
		if c.FirstSeen == nil {
			continue
		}
		q := c.QueryTime
		fmt.Fprintf(out, "REPLACE INTO %s (checksum, sample, ts_min, ts_max, ts_cnt, Query_time_sum, Query_time_min, Query_time_max, Query_time_pct_95, Query_time_stddev,"+
			" Query_time_median, Lock_time_sum, Rows_sent_sum, Rows_examined_sum, Rows_affected_sum, Bytes_sum)\n"+
			" VALUES ('%s', %s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);\n", history, c.ID32, sqlText(c.Example.Query), first, last, c.Count,
			sqlNumber(q.Sum), sqlNumber(q.Min), sqlNumber(q.Max), sqlNumber(q.P95), sqlNumber(q.Stddev), sqlNumber(q.P50),
			sqlNumber(c.LockTimeSum), sqlNumber(c.RowsSentSum), sqlNumber(c.RowsExaminedSum), sqlNumber(c.RowsAffectedSum), sqlNumber(c.QueryBytesSum))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write review: %w", err)
	}
	return nil
}

func sqlName(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = "`" + strings.ReplaceAll(p, "`", "``") + "`"
	}
	return strings.Join(parts, ".")
}

var sqlEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`, "\n", `\n`, "\r", `\r`, "\x1a", `\Z`)

func sqlText(s string) string { return "'" + sqlEscapes.Replace(s) + "'" }

func sqlTime(t *time.Time) string {
	if t == nil {
		return "NULL"
	}
	return t.Format("'" + time.DateTime + "'")
}

func sqlNumber(v float64) string {
	if math.IsNaN(v) {
		return "NULL"
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}

// Reviewed is what a person wrote about a class.
type Reviewed struct {
	ID       string `json:"id"` // 32 or 16 digits
	By       string `json:"reviewed_by"`
	Comments string `json:"comments"`
}

// Review is what the two tables held.
type Review struct {
	Digest   *Digest
	Reviewed []Reviewed
	Windows  int // rows of the history
	Unknown  int // of them: neither a sample nor a fingerprint, left out
}

// ReadReview reads the two tables as `mysql -B` prints them, the names of the columns first; either may be nil. A window of
// the history becomes sums over its time: their quantiles were never kept for single statements, and cannot be told.
func ReadReview(review, history io.Reader) (Review, error) {
	var out Review
	texts := map[string]string{}
	if review != nil {
		err := eachRow("the review table", review, []string{"checksum", "fingerprint"}, func(row map[string]string) error {
			id := checksumID(row["checksum"])
			texts[id] = row["fingerprint"]
			if row["reviewed_by"] != "" || row["comments"] != "" {
				out.Reviewed = append(out.Reviewed, Reviewed{id, row["reviewed_by"], row["comments"]})
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	b := New(Options{})
	in := b.Live("history table", "pt-query-digest history", "")
	in.Every(30 * time.Second)
	if history != nil {
		err := eachRow("the history table", history, []string{"checksum", "ts_min", "ts_max", "ts_cnt", "Query_time_sum"}, func(row map[string]string) error {
			s, from, to, err := historyRow(row, texts)
			if err != nil {
				return err
			}
			out.Windows++
			if s.Text == "" || s.Count == 0 {
				out.Unknown++
				return nil
			}
			in.Sum(s, from, to)
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	in.Close()
	out.Digest = b.Digest()
	return out, nil
}

// historyRow is one window of one class.
func historyRow(row, texts map[string]string) (s Summary, from, to time.Time, err error) {
	number := func(name string) float64 {
		v, _ := strconv.ParseFloat(row[name], 64) // not known: 0
		return max(v, 0)
	}
	s.Text = row["sample"]
	if s.Text != "" {
		s.Sample = &Statement{Query: []byte(s.Text), Timed: true, Time: time.Duration(number("Query_time_max") * 1e9)}
	} else {
		s.Text = texts[checksumID(row["checksum"])]
	}
	s.ID = row["checksum"]
	s.Count = uint64(number("ts_cnt"))
	s.Time, s.Lock = uint64(number("Query_time_sum")*1e12), uint64(number("Lock_time_sum")*1e12)
	s.RowsSent, s.RowsExamined, s.RowsAffected = uint64(number("Rows_sent_sum")), uint64(number("Rows_examined_sum")), uint64(number("Rows_affected_sum"))
	s.HasExtremes = row["Query_time_min"] != "" && row["Query_time_max"] != ""
	s.Shortest, s.Longest = uint64(number("Query_time_min")*1e12), uint64(number("Query_time_max")*1e12)
	if from, err = time.Parse(time.DateTime, clipTime(row["ts_min"])); err == nil {
		to, err = time.Parse(time.DateTime, clipTime(row["ts_max"]))
	}
	s.First, s.Last = from, to
	return s, from, to.Add(time.Second), err
}

// clipTime is a time without fractions.
func clipTime(s string) string { return s[:min(len(s), len(time.DateTime))] }

// checksumID is a checksum as an ID: old tables have the last 64 bits as a number.
func checksumID(s string) string {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && len(s) != 32 && len(s) != 16 {
		return fmt.Sprintf("%016X", n)
	}
	return strings.ToUpper(s)
}

var tabEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\0`, "\x00")

// eachRow reads tab-separated rows below a line with the names of the columns.
func eachRow(what string, r io.Reader, wanted []string, visit func(map[string]string) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 64<<20)
	var names []string
	for line := 1; in.Scan(); line++ {
		cells := strings.Split(in.Text(), "\t")
		if names == nil {
			names = cells
			for _, w := range wanted {
				if !strings.Contains("\t"+in.Text()+"\t", "\t"+w+"\t") {
					return fmt.Errorf("read %s: its first line names no column %s: print it with mysql -B -e 'SELECT * FROM ...'", what, w)
				}
			}
			continue
		}
		if len(cells) != len(names) {
			return fmt.Errorf("read %s: line %d has %s, the first line names %d", what, line, farm.Counted(len(cells), "column"), len(names))
		}
		row := map[string]string{}
		for i, c := range cells {
			if c != "NULL" {
				row[names[i]] = tabEscapes.Replace(c)
			}
		}
		if err := visit(row); err != nil {
			return fmt.Errorf("read %s: line %d: %w", what, line, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}
