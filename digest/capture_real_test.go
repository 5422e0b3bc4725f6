package digest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"stowage/internal/mariadbtest"
)

// wiretap is between clients and a server and writes down what they say, as tcpdump would, but without its privileges.
type wiretap struct {
	l  net.Listener
	wg sync.WaitGroup

	mu      sync.Mutex
	packets []wirePacket
	conns   uint16
}

func startWiretap(t *testing.T, server string) *wiretap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &wiretap{l: l}
	t.Cleanup(func() {
		p.l.Close()
		p.wg.Wait()
	})
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c, server) })
		}
	})
	return p
}

func (p *wiretap) serve(c net.Conn, server string) {
	defer c.Close()
	s, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer s.Close()
	p.mu.Lock()
	p.conns++
	w := newWire()
	w.port = 40000 + p.conns
	p.mu.Unlock()
	p.note(w, func() {
		w.segment(true, tcpSyn, nil)
		w.segment(false, tcpSyn|tcpAck, nil)
	})
	var both sync.WaitGroup
	both.Go(func() { p.pass(w, true, c, s) })
	both.Go(func() { p.pass(w, false, s, c) })
	both.Wait()
}

func (p *wiretap) note(w *wire, say func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.at, w.packets = time.Now().UnixMicro()-100, nil
	say()
	p.packets = append(p.packets, w.packets...)
}

// pass writes bytes down before it passes them on, so that no answer comes before its request.
func (p *wiretap) pass(w *wire, fromClient bool, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.note(w, func() { w.segment(fromClient, tcpAck, buf[:n]) })
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			p.note(w, func() { w.segment(fromClient, tcpAck|tcpFin, nil) })
			_ = to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

// forget drops what was written down so far: the capture begins here.
func (p *wiretap) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.packets = nil
}

// taken is what was written down so far.
func (p *wiretap) taken() *wire {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &wire{packets: slices.Clone(p.packets), client: "10.0.0.7", server: "10.0.0.1"}
}

// oltp is a mix like that of sysbench, with errors and several statements in one text. With args the driver prepares.
func oltp(ctx context.Context, db *sql.Conn, seed int, isPrepared, isSeveral bool) error {
	do := func(text string, args ...any) error {
		if !isPrepared {
			text = strings.ReplaceAll(text, "?", "%v")
			text, args = fmt.Sprintf(text, args...), nil
		}
		rows, err := db.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
			}
		}
		return errors.Join(rows.Err(), rows.Close())
	}
	for n := range 40 {
		id := seed*1000 + n
		for _, text := range []string{
			"SELECT c FROM sbtest1 WHERE id=?", "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND 100", "UPDATE sbtest1 SET k=k+1 WHERE id=?",
			"DELETE FROM sbtest1 WHERE id=?", "INSERT INTO sbtest1 (id, k, c) VALUES (?, 1, 'x')", "SELECT DISTINCT c FROM sbtest1 WHERE k > ? ORDER BY c LIMIT 3",
		} {
			if err := do(text, id); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		for _, wrong := range []string{"INSERT INTO sbtest1 (id) VALUES (?)", "SELECT nothing FROM nowhere WHERE id=?"} {
			if err := do(wrong, id); err == nil {
				return fmt.Errorf("%s: no error", wrong)
			}
		}
		if isSeveral {
			if err := do(fmt.Sprintf("SELECT %d; UPDATE sbtest1 SET k=0 WHERE id=%d; SELECT ';' FROM sbtest1 LIMIT 2", n, id)); err != nil {
				return err
			}
			_ = do(fmt.Sprintf("COMMIT; SELECT * FROM nowhere; SELECT %d", n)) // the last is never run
		}
	}
	return nil
}

// A capture and the slow log of the same run tell the same: the same classes, as often, with the same rows; and the
// capture the same as its text. Some of the connections stood before the capture began.
func TestCaptureAgainstSlowLog(t *testing.T) {
	i := mariadbtest.Start(t, "wire", "--slow-query-log=1", "--slow-query-log-file=slow.log", "--long-query-time=0", "--log-slow-filter=")
	i.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c VARCHAR(200))",
		"INSERT INTO sbtest1 SELECT seq, seq % 17, REPEAT('v', seq % 50) FROM seq_1_to_300")
	p := startWiretap(t, i.Address)
	open := func(options string) *sql.Conn {
		pool, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/shop?%s", mariadbtest.Stowage, mariadbtest.Stowage.Password(), p.l.Addr(), options))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pool.Close() })
		db, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() }) // the wiretap waits for it to end, also when the test has failed
		return db
	}
	early := []*sql.Conn{open(""), open("multiStatements=true"), open("compress=true")}
	log := filepath.Join(i.Datadir, "slow.log")
	// The server logs a statement after it has answered it: one of those above was in the log of the run, beside load.
	for k := 0; !bytes.Contains(logFrom(t, log, 0), []byte("INSERT INTO sbtest1 SELECT seq,")); k++ {
		if k == 600 {
			t.Fatal("the server did not log the last statement of the set-up")
		}
		time.Sleep(100 * time.Millisecond)
	}
	before, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	p.forget()
	conns := append(early, open(""), open("multiStatements=true"), open("compress=true"), open("clientFoundRows=true"))
	var wg sync.WaitGroup
	errs := make([]error, len(conns))
	for k, db := range conns {
		wg.Go(func() {
			errs[k] = oltp(t.Context(), db, k+1, k%3 != 1, k%3 == 1)
			_ = db.Close()
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	w := p.taken() // while the connections are open still, as captures end
	statements := func(rules RuleSet, content []byte) (Report, string) {
		only, err := ParseFilter("not admin")
		if err != nil {
			t.Fatal(err)
		}
		b := New(Options{Rules: rules, Filter: only})
		if err := b.Read("input", bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		r := b.Digest().Report()
		return r, classesOf(r)
	}
	for _, rules := range []RuleSet{RulesPtqd, RulesLexer} {
		c, captured := statements(rules, w.pcap())
		r, logged := statements(rules, logFrom(t, log, before.Size()))
		for range 50 { // the server logs a statement after it has answered it
			if r.Events >= c.Events {
				break
			}
			time.Sleep(100 * time.Millisecond)
			r, logged = statements(rules, logFrom(t, log, before.Size()))
		}
		if logged != captured || r.Events < 2000 {
			t.Errorf("%s: the slow log of the run says\n%s\nthe capture\n%s\n%+v", rules, logged, captured, c.Inputs)
		}
		if c.Events != r.Events || len(c.Inputs[0].Skipped) > 0 {
			t.Errorf("%s: %d events in the slow log, %d in the capture: %+v", rules, r.Events, c.Events, c.Inputs)
		}
		for _, class := range c.Classes {
			// Those behind the first of a text: beside load all its answers are read at once, in no time.
			isBehind := slices.Contains([]string{"update sbtest? set k=? where id=?", "select ? from sbtest? limit ?", "select * from nowhere"}, class.Fingerprint)
			if class.Untimed > 0 || class.QueryTime.Sum <= 0 && class.Count > 20 && !isBehind { // a few may be answered in their own microsecond: the tap is a program, too, and may read both ways late
				t.Errorf("%s: %s has no times: %+v", rules, class.Fingerprint, class.QueryTime)
			}
			if isWrong := strings.Contains(class.Fingerprint, "nowhere"); isWrong && class.Flags["error"] != class.Count {
				t.Errorf("%s: %s: %v errors of %d", rules, class.Fingerprint, class.Flags, class.Count)
			}
		}
		if rules == RulesLexer {
			if _, same := statements(rules, w.text()); same != captured {
				t.Errorf("the text of the capture says\n%s\nthe capture\n%s", same, captured)
			}
		}
	}
}

// logFrom is what was logged behind a place, under the banner of the file.
func logFrom(t *testing.T, path string, from int64) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(banner), text...)
}

// classesOf are the facts that both a capture and a slow log know.
func classesOf(r Report) string {
	var lines []string
	for _, c := range r.Classes {
		lines = append(lines, fmt.Sprintf("%6d calls, %6.0f rows sent, %8.0f bytes of statements: %s", c.Count, c.RowsSentSum, c.QueryBytesSum, c.Fingerprint))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
