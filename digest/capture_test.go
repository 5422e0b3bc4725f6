package digest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zlib"

	"stowage/capture"
)

// otherPorts are samples of servers on ports that the reference does not look at unless it is told (fault B13): it sees
// nothing in them, and we do. What they hold stands here as it can be read in them.
var otherPorts = map[string][]string{
	"tcpdump012.txt": {"1 select ? as greeting"},
	"tcpdump021.txt": {"1 prepare select i from d.t where i=?", "1 execute select i from d.t where i=?", "1 administrator command: Quit"},
	"tcpdump022.txt": {"1 prepare select i,j from d.t? where i=? and j=?", "1 execute select i,j from d.t? where i=? and j=?"},
	"tcpdump025.txt": {"1 prepare select * from d.t where ? limit ?;", "1 execute select * from d.t where ? limit ?;"},
	"tcpdump028.txt": {"3 execute select * from d.t where i=?", "1 prepare select * from d.t where i=?"},
	"tcpdump038.txt": {"1 insert into t values(?+)"},
	"tcpdump041.txt": {"1 prepare select i from d.t where i=?"},
	"tcpdump042.txt": {"1 administrator command: Connect"},
	"tcpdump043.txt": {"1 administrator command: Connect"},
}

func TestCaptureConformance(t *testing.T) {
	for path, ref := range samples(t, "tcpdump") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := read(t, Options{}, text)
			if classes := otherPorts[filepath.Base(path)]; classes != nil {
				want(t, r, classes...)
				return
			}
			for i := range r.Classes { // the reference does not count rows in the text of tcpdump; we do
				r.Classes[i].RowsSentSum = 0
			}
			checkReference(t, r, ref)
		})
	}
}

// A client that goes away before it says who it is, or says something else, is a failed connection.
func TestCaptureConformanceOfFailedLogins(t *testing.T) {
	for _, name := range []string{"tcpdump003.txt", "tcpdump042.txt", "tcpdump043.txt"} {
		text, err := os.ReadFile(filepath.Join(conformance, "tcpdump", name))
		if err != nil {
			t.Skip("NOT TESTED: ", err)
		}
		r := read(t, Options{}, text)
		if len(r.Classes) != 1 || r.Classes[0].Flags["error"] != 1 || r.Classes[0].Untimed != 0 || r.Classes[0].QueryTime.Sum == 0 {
			t.Errorf("%s: %+v", name, r.Classes)
		}
	}
}

// Flags and commands of the protocols, as wire speaks them.
const (
	tcpFin = 1
	tcpSyn = 2
	tcpAck = 16

	comQuit        = byte(capture.Quit)
	comQuery       = byte(capture.Query)
	comStmtPrepare = byte(capture.Prepare)
	comStmtExecute = byte(capture.Execute)
	comStmtClose   = byte(capture.CloseStatement)

	clientConnectWithDB = 1 << 3
	clientCompress      = 1 << 5
	clientProtocol41    = 1 << 9
	clientSSL           = 1 << 11
	clientSecure        = 1 << 15
)

// wire makes up a capture: segments of one connection with the numbers they would have.
type wire struct {
	client, server string // addresses; IPv6 when they hold a colon
	port           uint16
	at             int64 // microseconds
	up, down       uint32
	packets        []wirePacket
}

type wirePacket struct {
	at   int64
	data []byte // from the IP header on
	full int    // length before the capture cut it
}

func newWire() *wire {
	return &wire{client: "10.0.0.7", server: "10.0.0.1", port: 40001, at: 1795297544_000000, up: 4294967200, down: 777}
}

// segment adds one, 100 microseconds after the one before, and returns it.
func (w *wire) segment(fromClient bool, flags byte, payload []byte) *wirePacket {
	w.at += 100
	src, dst, sport, dport, seq, ack := w.client, w.server, w.port, uint16(3307), w.up, w.down
	if !fromClient {
		src, dst, sport, dport, seq, ack = dst, src, dport, sport, w.down, w.up
	}
	tcp := binary.BigEndian.AppendUint16(nil, sport)
	tcp = binary.BigEndian.AppendUint16(tcp, dport)
	tcp = binary.BigEndian.AppendUint32(tcp, seq)
	tcp = binary.BigEndian.AppendUint32(tcp, ack)
	tcp = append(tcp, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	tcp = append(tcp, payload...)
	var ip []byte
	s, d := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	if s.Is4() {
		ip = append(ip, 0x45, 0)
		ip = binary.BigEndian.AppendUint16(ip, uint16(20+len(tcp)))
		ip = append(ip, 0, 0, 0x40, 0, 64, 6, 0, 0)
	} else {
		ip = append(ip, 0x60, 0, 0, 0)
		ip = binary.BigEndian.AppendUint16(ip, uint16(len(tcp)))
		ip = append(ip, 6, 64)
	}
	ip = append(append(append(ip, s.AsSlice()...), d.AsSlice()...), tcp...)
	n := uint32(len(payload))
	if flags&(tcpSyn|tcpFin) != 0 {
		n++
	}
	if fromClient {
		w.up += n
	} else {
		w.down += n
	}
	w.packets = append(w.packets, wirePacket{w.at, ip, len(ip)})
	return &w.packets[len(w.packets)-1]
}

func mysqlPacket(number byte, body []byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), number}, body...)
}

func (w *wire) login(caps uint32) {
	w.segment(true, tcpSyn, nil)
	w.segment(false, tcpSyn|tcpAck, nil)
	w.segment(true, tcpAck, nil)
	w.segment(false, tcpAck, mysqlPacket(0, append([]byte("\x0a10.11.19-MariaDB\x00"), make([]byte, 60)...)))
	hello := binary.LittleEndian.AppendUint32(nil, caps|clientProtocol41|clientConnectWithDB|clientSecure)
	hello = append(append(hello, make([]byte, 28)...), "app\x00\x14aaaaaaaaaaaaaaaaaaaashop\x00"...)
	w.segment(true, tcpAck, mysqlPacket(1, hello))
	w.segment(false, tcpAck, mysqlPacket(2, []byte{0, 0, 0, 2, 0, 0, 0}))
}

var okAnswer = mysqlPacket(1, []byte{0, 1, 0, 2, 0, 0, 0})

func (w *wire) query(q string) {
	w.segment(true, tcpAck, mysqlPacket(0, append([]byte{comQuery}, q...)))
	w.segment(false, tcpAck, okAnswer)
}

// pcap is the capture in the format of tcpdump -w, with an Ethernet header and a VLAN tag.
func (w *wire) pcap() []byte {
	out := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	out = append(out, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	for _, p := range w.packets {
		link := append(make([]byte, 12), 0x81, 0, 0, 5, 8, 0)
		out = binary.LittleEndian.AppendUint32(out, uint32(p.at/1e6))
		out = binary.LittleEndian.AppendUint32(out, uint32(p.at%1e6))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(link)+len(p.data)))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(link)+p.full))
		out = append(append(out, link...), p.data...)
	}
	return out
}

// pcapng is the capture in the format of Wireshark, bare IP, with a clock of nanoseconds, in big-endian order.
func (w *wire) pcapng() []byte {
	be := binary.BigEndian
	block := func(out []byte, kind uint32, body []byte) []byte {
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		out = be.AppendUint32(out, kind)
		out = be.AppendUint32(out, uint32(12+len(body)))
		return be.AppendUint32(append(out, body...), uint32(12+len(body)))
	}
	out := block(nil, 0x0a0d0d0a, []byte{0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	out = block(out, 1, []byte{0, 101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0})
	out = block(out, 5, []byte{1, 2, 3, 4}) // statistics: of no interest
	for _, p := range w.packets {
		body := be.AppendUint32(nil, 0)
		body = be.AppendUint64(body, uint64(p.at)*1000)
		body = be.AppendUint32(body, uint32(len(p.data)))
		body = be.AppendUint32(body, uint32(p.full))
		out = block(out, 6, append(body, p.data...))
	}
	return out
}

// text is the capture as tcpdump -x -n -q -tttt prints it.
func (w *wire) text() []byte {
	var out []byte
	for _, p := range w.packets {
		out = fmt.Appendf(out, "%s IP %s.%d > %s.3307: tcp 0\n", time.UnixMicro(p.at).UTC().Format("2006-01-02 15:04:05.000000"), w.client, w.port, w.server)
		for at := 0; at < len(p.data); at += 16 {
			out = fmt.Appendf(out, "\t0x%04x: ", at)
			for k, c := range p.data[at:min(at+16, len(p.data))] {
				if k%2 == 0 {
					out = append(out, ' ')
				}
				out = fmt.Appendf(out, "%02x", c)
			}
			out = append(out, '\n')
		}
	}
	return out
}

func TestCaptureFormats(t *testing.T) {
	w := newWire()
	w.login(0)
	w.query("SELECT a FROM t WHERE id=1")
	w.query("COMMIT")
	w.segment(true, tcpAck, mysqlPacket(0, []byte{comQuit}))
	w.segment(true, tcpAck|tcpFin, nil)
	w.segment(false, tcpAck|tcpFin, nil)
	six := newWire()
	six.client, six.server = "fd00::7", "fd00::1"
	six.login(0)
	six.query("SELECT a FROM t WHERE id=1")
	for name, content := range map[string][]byte{"pcap": w.pcap(), "pcapng": w.pcapng(), "gzip": gzipped(t, w.pcap()), "text": w.text(), "text in gzip": gzipped(t, w.text()), "IPv6": six.pcapng()} {
		t.Run(name, func(t *testing.T) {
			r := read(t, Options{}, content)
			for _, c := range r.Classes {
				if c.Fingerprint == "select a from t where id=?" {
					if c.Count != 1 || c.QueryTime.Sum != 0.0001 || c.Users[0].Name != "app" || c.DBs[0].Name != "shop" || !strings.HasSuffix(c.Hosts[0].Name, "7") {
						t.Errorf("class %+v", c)
					}
				}
			}
			if events := map[string]uint64{"IPv6": 2}[name]; events == 0 && r.Events != 4 || events != 0 && r.Events != events {
				t.Errorf("%d events in %+v", r.Events, r.Classes)
			}
			if r.Inputs[0].Type != "pcap" || len(r.Inputs[0].Skipped)+len(r.Inputs[0].Notes) != 0 {
				t.Errorf("input %+v", r.Inputs[0])
			}
		})
	}
}

// B16: sequence numbers are obeyed. What is repeated counts once, what comes late is put in order, and what was lost gives
// no false times.
func TestB16SequenceNumbers(t *testing.T) {
	build := func(change func(w *wire)) Report {
		w := newWire()
		w.login(0)
		w.query("BEGIN")
		change(w)
		w.query("COMMIT")
		return read(t, Options{}, w.pcap())
	}
	count := func(r Report, fingerprint string) (n, untimed uint64, most float64) {
		for _, c := range r.Classes {
			if c.Fingerprint == fingerprint {
				return c.Count, c.Untimed, c.QueryTime.Max
			}
		}
		return 0, 0, 0
	}
	half := func(w *wire, parts ...string) {
		whole := mysqlPacket(0, append([]byte{comQuery}, strings.Join(parts, "")...))
		for i, p := range parts {
			n := len(p)
			if i == 0 {
				n += 5
			}
			w.segment(true, tcpAck, whole[:n])
			whole = whole[n:]
		}
	}
	t.Run("repeated", func(t *testing.T) {
		r := build(func(w *wire) {
			w.query("SELECT 1")
			n := len(w.packets)
			w.packets = append(w.packets, w.packets[n-2], w.packets[n-1], w.packets[n-2])
		})
		if n, _, _ := count(r, "select ?"); n != 1 || r.Events != 4 {
			t.Errorf("a repeated query counts %d times, %d events", n, r.Events)
		}
	})
	t.Run("out of order", func(t *testing.T) {
		r := build(func(w *wire) {
			half(w, "SELECT a ", "FROM t ", "WHERE b=1")
			n := len(w.packets)
			w.packets[n-1].data, w.packets[n-2].data = w.packets[n-2].data, w.packets[n-1].data
			w.segment(false, tcpAck, okAnswer)
		})
		if n, untimed, _ := count(r, "select a from t where b=?"); n != 1 || untimed != 0 {
			t.Errorf("a query out of order: %+v", r.Classes)
		}
	})
	t.Run("lost answer", func(t *testing.T) {
		r := build(func(w *wire) {
			w.query("SELECT 1")
			w.packets = w.packets[:len(w.packets)-1]
			w.at += 90e6
		})
		n, untimed, most := count(r, "select ?")
		if n != 1 || untimed != 1 || most > 1 || r.QueryTimeSum > 1 {
			t.Errorf("%d of which %d untimed, the longest %v s", n, untimed, most)
		}
	})
	t.Run("lost piece of a query", func(t *testing.T) {
		r := build(func(w *wire) {
			half(w, "SELECT a ", "FROM secret ", "WHERE b=1")
			n := len(w.packets)
			w.packets = append(w.packets[:n-2], w.packets[n-1])
			w.segment(false, tcpAck, okAnswer)
		})
		if n, _, _ := count(r, "commit"); n != 1 {
			t.Errorf("what follows a lost segment: %+v", r.Classes)
		}
		for _, c := range r.Classes {
			if strings.HasPrefix(c.Fingerprint, "select") {
				t.Errorf("a query with a hole became %q", c.Fingerprint)
			}
		}
		if len(r.Inputs[0].Skipped) == 0 {
			t.Errorf("nothing says that something is lost: %+v", r.Inputs[0])
		}
	})
	t.Run("cut off by the capture", func(t *testing.T) {
		r := build(func(w *wire) {
			p := w.segment(true, tcpAck, mysqlPacket(0, append([]byte{comQuery}, "SELECT a FROM t WHERE b=1 AND c IN (1, 2, 3)"...)))
			p.data = p.data[:len(p.data)-19]
			w.segment(false, tcpAck, okAnswer)
		})
		if n, _, _ := count(r, "select a from t where b=?"); n != 1 || !says(r.Inputs[0].Notes, "requests that are not whole in the capture") ||
			!says(r.Inputs[0].Notes, "snap length") {
			t.Errorf("%+v, notes %+v", r.Classes, r.Inputs[0].Notes)
		}
		if n, _, _ := count(r, "commit"); n != 1 {
			t.Errorf("what follows: %+v", r.Classes)
		}
	})
}

// oneRow is the answer to a SELECT of one column: its definition, a row and the ends of both.
func oneRow() []byte {
	eof := []byte{0xfe, 0, 0, 2, 0}
	out := mysqlPacket(1, []byte{1})
	out = append(out, mysqlPacket(2, []byte("\x03def\x04shop\x01t\x01t\x01a\x01a\x0c\x3f\x00\x0b\x00\x00\x00\x03\x00\x00\x00\x00\x00"))...)
	out = append(out, mysqlPacket(3, eof)...)
	out = append(out, mysqlPacket(4, []byte{0, 0, 5, 0, 0, 0})...)
	return append(out, mysqlPacket(5, eof)...)
}

// preparedWire prepares a statement and executes it three times, and one that was prepared before the capture.
func preparedWire() *wire {
	w := newWire()
	w.login(0)
	w.segment(true, tcpAck, mysqlPacket(0, append([]byte{comStmtPrepare}, "SELECT a FROM t WHERE b=?"...)))
	def := mysqlPacket(2, []byte("\x03def\x00\x00\x00\x01?\x00\x0c\x3f\x00\x00\x00\x00\x00\xfd\x80\x00\x00\x00\x00"))
	ok := append(mysqlPacket(1, []byte{0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}), def...)
	ok = append(ok, mysqlPacket(3, []byte{0xfe, 0, 0, 2, 0})...)
	ok = append(append(ok, def...), mysqlPacket(5, []byte{0xfe, 0, 0, 2, 0})...)
	w.segment(false, tcpAck, ok)
	for k := range byte(3) {
		execute := []byte{comStmtExecute, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0}
		if k == 0 {
			execute = append(execute, 1, 3, 0) // the type is told once
		} else {
			execute = append(execute, 0)
		}
		w.segment(true, tcpAck, mysqlPacket(0, append(execute, 40+k, 0, 0, 0)))
		w.segment(false, tcpAck, oneRow())
	}
	w.segment(true, tcpAck, mysqlPacket(0, []byte{comStmtClose, 7, 0, 0, 0}))
	w.segment(true, tcpAck, mysqlPacket(0, []byte{comStmtExecute, 9, 0, 0, 0, 0, 1, 0, 0, 0}))
	w.segment(false, tcpAck, mysqlPacket(1, append([]byte{0xff, 0xe3, 4}, "#HY000 no such"...)))
	return w
}

// An execution counts as the statement, with its values, as the slow log has it; in the text of tcpdump as the reference
// has it, which reads nothing else.
func TestCapturePreparedStatements(t *testing.T) {
	w := preparedWire()
	for name, content := range map[string][]byte{"pcap": w.pcap(), "text": w.text()} {
		for _, rules := range []RuleSet{RulesPtqd, RulesLexer} {
			r := read(t, Options{Rules: rules}, content)
			execute := "select a from t where b=?"
			if name == "text" && rules == RulesPtqd {
				execute = "execute " + execute
			}
			if rules == RulesPtqd {
				want(t, r, "1 administrator command: Connect", "3 "+execute, "1 execute (unknown statement)", "1 prepare select a from t where b=?",
					"1 deallocate prepare ?")
			}
			executions := uint64(0)
			for _, c := range r.Classes {
				switch strings.ReplaceAll(c.Fingerprint, " = ", "=") {
				case execute:
					executions = c.Count
					if c.RowsSentSum != 3 || c.Flags["admin"] != 0 || !strings.HasSuffix(c.Example.Query, "SELECT a FROM t WHERE b=40") {
						t.Errorf("%s, %s: %+v", name, rules, c)
					}
				case "execute (unknown statement)":
					if c.Flags["error"] != 1 {
						t.Errorf("%s, %s: an error is not counted: %+v", name, rules, c)
					}
				case "deallocate prepare ?", "prepare select a from t where b=?":
					if c.Flags["admin"] != 1 {
						t.Errorf("%s, %s: %+v", name, rules, c)
					}
				}
			}
			if executions != 3 {
				t.Errorf("%s, %s: %d executions", name, rules, executions)
			}
		}
	}
}

// Single statements of a capture come with their values and all that the wire tells.
func TestCaptureStatements(t *testing.T) {
	w := preparedWire()
	w.segment(true, tcpAck, mysqlPacket(0, append([]byte{0x02}, "money"...)))
	w.segment(false, tcpAck, okAnswer)
	w.query("DELETE FROM t")
	p := w.segment(true, tcpAck, mysqlPacket(0, append([]byte{comQuery}, "SELECT a FROM t"...)))
	p.data = p.data[:len(p.data)-3]
	w.segment(false, tcpAck, oneRow())
	var got []string
	var begins []time.Duration
	first := time.UnixMicro(w.packets[0].at)
	_, err := Statements("pcap", bytes.NewReader(w.pcap()), Options{}, func(s *Statement) error {
		got = append(got, fmt.Sprintf("%s %s@%s %s %v rows=%d affected=%d admin=%v error=%v cut=%v thread=%d", s.Query, s.User, s.Host, s.DB,
			s.Time, s.RowsSent, s.RowsAffected, s.Admin, s.Error, s.Cut, s.Thread))
		begins = append(begins, s.At.Sub(first))
		if s.BytesSent == 0 && s.Timed && s.Time > 0 {
			t.Errorf("no bytes sent: %+v", s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{
		"administrator command: Connect app@10.0.0.7 shop 500µs rows=0 affected=0 admin=true error=false cut=false thread=1",
		"administrator command: Prepare app@10.0.0.7 shop 100µs rows=0 affected=0 admin=true error=false cut=false thread=1",
		"SELECT a FROM t WHERE b=40 app@10.0.0.7 shop 100µs rows=1 affected=0 admin=false error=false cut=false thread=1",
		"SELECT a FROM t WHERE b=41 app@10.0.0.7 shop 100µs rows=1 affected=0 admin=false error=false cut=false thread=1",
		"SELECT a FROM t WHERE b=42 app@10.0.0.7 shop 100µs rows=1 affected=0 admin=false error=false cut=false thread=1",
		"administrator command: Close stmt app@10.0.0.7 shop 0s rows=0 affected=0 admin=true error=false cut=false thread=1",
		"EXECUTE (unknown statement) app@10.0.0.7 shop 100µs rows=0 affected=0 admin=false error=true cut=true thread=1",
		"administrator command: Init_db app@10.0.0.7 shop 100µs rows=0 affected=1 admin=true error=false cut=false thread=1",
		"DELETE FROM t app@10.0.0.7 money 100µs rows=0 affected=1 admin=false error=false cut=false thread=1",
		"SELECT a FRO app@10.0.0.7 money 100µs rows=1 affected=0 admin=false error=false cut=true thread=1",
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	for i, at := range []time.Duration{0, 600, 800, 1000, 1200, 1400, 1500, 1700, 1900, 2100} { // when each begins, not when it is answered
		if i < len(begins) && begins[i] != at*time.Microsecond {
			t.Errorf("statement %d is said to begin at %v, not %v", i, begins[i], at*time.Microsecond)
		}
	}
}

// Where segments were lost, the connections are named.
func TestCaptureNamesLossyConnections(t *testing.T) {
	w := newWire()
	w.login(0)
	for range 5 {
		w.query("SELECT 1")
	}
	w.packets = append(w.packets[:len(w.packets)-6], w.packets[len(w.packets)-5:]...)
	in := read(t, Options{}, w.pcap()).Inputs[0]
	if !says(in.Skipped, "10.0.0.7:40001 with 10.0.0.1:3307") || !says(in.Skipped, "bytes from clients") {
		t.Errorf("%+v", in)
	}
	for _, r := range in.Skipped {
		if strings.Contains(r.Reason, "10.0.0.7") && (r.Count != 1 || r.Bytes != 13 || r.FirstOffset == 0) {
			t.Errorf("%+v", r)
		}
	}
}

func says(rs []Remark, part string) bool {
	return slices.ContainsFunc(rs, func(r Remark) bool { return strings.Contains(r.Reason, part) })
}

func TestCaptureUnreadableIsSaid(t *testing.T) {
	w := newWire()
	w.segment(true, tcpSyn, nil)
	w.segment(false, tcpSyn|tcpAck, nil)
	w.segment(false, tcpAck, mysqlPacket(0, append([]byte("\x0a10.11.19-MariaDB\x00"), make([]byte, 60)...)))
	w.segment(true, tcpAck, mysqlPacket(1, append(binary.LittleEndian.AppendUint32(nil, clientSSL|clientProtocol41), make([]byte, 28)...)))
	for range 20 {
		w.segment(true, tcpAck, []byte("\x16\x03\x01\x00\x05hello"))
		w.segment(false, tcpAck, []byte("\x16\x03\x03\x00\x05hello"))
	}
	r := read(t, Options{}, w.pcap())
	if s := r.Inputs[0].Skipped; len(s) != 1 || !strings.Contains(s[0].Reason, "TLS") || r.Events != 0 {
		t.Errorf("%d events, skipped %+v", r.Events, s)
	}
	web := newWire()
	for range 20 {
		web.segment(true, tcpAck, []byte("GET / HTTP/1.1\r\n\r\n"))
		web.segment(false, tcpAck, []byte("HTTP/1.1 200 OK\r\n\r\n"))
	}
	if r := read(t, Options{}, web.pcap()); r.Events != 0 || len(r.Inputs[0].Notes) != 1 {
		t.Errorf("web traffic: %d events, notes %+v", r.Events, r.Inputs[0].Notes)
	}
}

func TestCaptureCompressedProtocol(t *testing.T) {
	w := newWire()
	w.login(clientCompress)
	wrap := func(number byte, inner []byte, squeeze bool) []byte {
		if !squeeze {
			return append([]byte{byte(len(inner)), byte(len(inner) >> 8), 0, number, 0, 0, 0}, inner...)
		}
		var z bytes.Buffer
		out := zlib.NewWriter(&z)
		if _, err := out.Write(inner); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return append([]byte{byte(z.Len()), byte(z.Len() >> 8), 0, number, byte(len(inner)), byte(len(inner) >> 8), 0}, z.Bytes()...)
	}
	for _, squeeze := range []bool{false, true, true} {
		q := mysqlPacket(0, append([]byte{comQuery}, "SELECT a FROM t WHERE id IN ("+strings.Repeat("1, ", 200)+"2)"...))
		w.segment(true, tcpAck, wrap(0, q, squeeze))
		w.segment(false, tcpAck, wrap(1, okAnswer, squeeze))
	}
	r := read(t, Options{}, w.pcap())
	want(t, r, "1 administrator command: Connect", "3 select a from t where id in(?+)")
	if !says(r.Inputs[0].Notes, "compressed protocol") {
		t.Errorf("%+v", r.Inputs[0])
	}
}

func FuzzCapture(f *testing.F) {
	w := newWire()
	w.login(0)
	w.query("SELECT 1")
	f.Add(w.pcap())
	f.Add(w.pcapng())
	f.Add(w.text())
	w = preparedWire()
	f.Add(w.pcap())
	f.Add(w.text())
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, o := range []Options{{}, {Rules: RulesLexer, GroupBy: ByTable, MaxStatement: 40}} {
			b := New(o)
			if err := b.ReadCapture("capture", bytes.NewReader(content)); err != nil {
				if !errors.Is(err, ErrUnknownInput) {
					t.Fatal(err)
				}
				return
			}
			d := b.Digest()
			if in := d.inputs[0]; in.bytes != int64(len(content)) || in.events != d.events {
				t.Fatalf("%d bytes of %d, %d events of %d", in.bytes, len(content), in.events, d.events)
			}
			d.Report()
		}
		_, err := Statements("capture", bytes.NewReader(content), Options{}, func(s *Statement) error {
			if s.Time < 0 || !s.Timed && s.Time != 0 || s.Thread == 0 {
				t.Fatalf("%+v", s)
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrUnknownInput) {
			t.Fatal(err)
		}
	})
}
