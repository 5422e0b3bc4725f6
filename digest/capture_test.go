package digest

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
)

// otherPorts are samples of servers on ports that the reference does not look at unless it is told (fault B13): it sees
// nothing in them, and we do.
var otherPorts = map[string]bool{
	"tcpdump012.txt": true, "tcpdump021.txt": true, "tcpdump022.txt": true, "tcpdump025.txt": true, "tcpdump028.txt": true,
	"tcpdump038.txt": true, "tcpdump041.txt": true, "tcpdump042.txt": true, "tcpdump043.txt": true,
}

func TestCaptureConformance(t *testing.T) {
	for path, ref := range samples(t, "tcpdump") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := read(t, Options{}, text)
			if otherPorts[filepath.Base(path)] {
				t.Logf("%d events: %+v", r.Events, r.Inputs)
				if r.Events == 0 {
					t.Error("nothing found on a port that is not 3306")
				}
				return
			}
			checkReference(t, r, ref)
		})
	}
}

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
	for name, content := range map[string][]byte{"pcap": w.pcap(), "pcapng": w.pcapng(), "gzip": gzipped(t, w.pcap()), "IPv6": six.pcapng()} {
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
		if n, _, _ := count(r, "select a from t where b=?"); n != 1 || len(r.Inputs[0].Notes) != 1 {
			t.Errorf("%+v, notes %+v", r.Classes, r.Inputs[0].Notes)
		}
		if n, _, _ := count(r, "commit"); n != 1 {
			t.Errorf("what follows: %+v", r.Classes)
		}
	})
}

func TestCapturePreparedStatements(t *testing.T) {
	w := newWire()
	w.login(0)
	w.segment(true, tcpAck, mysqlPacket(0, append([]byte{comStmtPrepare}, "SELECT a FROM t WHERE b=?"...)))
	w.segment(false, tcpAck, mysqlPacket(1, []byte{0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}))
	for range 3 {
		w.segment(true, tcpAck, mysqlPacket(0, []byte{comStmtExecute, 7, 0, 0, 0, 0, 1, 0, 0, 0}))
		w.segment(false, tcpAck, mysqlPacket(1, []byte{1}))
	}
	w.segment(true, tcpAck, mysqlPacket(0, []byte{comStmtClose, 7, 0, 0, 0}))
	w.segment(true, tcpAck, mysqlPacket(0, []byte{comStmtExecute, 9, 0, 0, 0, 0, 1, 0, 0, 0}))
	w.segment(false, tcpAck, mysqlPacket(1, append([]byte{0xff, 0xe3, 4}, "#HY000 no such"...)))
	r := read(t, Options{}, w.pcap())
	want(t, r, "1 administrator command: Connect", "3 execute select a from t where b=?", "1 execute (unknown statement)", "1 prepare select a from t where b=?",
		"1 deallocate prepare ?")
	for _, c := range r.Classes {
		if c.Fingerprint == "execute (unknown statement)" && c.Flags["error"] != 1 {
			t.Errorf("an error is not counted: %+v", c)
		}
	}
	r = read(t, Options{Rules: RulesLexer}, w.pcap())
	for _, c := range r.Classes {
		if c.Fingerprint == "select a from t where b = ?" && c.Count != 3 {
			t.Errorf("under the lexer's rules: %+v", c)
		}
	}
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
}

func FuzzCapture(f *testing.F) {
	w := newWire()
	w.login(0)
	w.query("SELECT 1")
	f.Add(w.pcap())
	f.Add(w.pcapng())
	f.Add([]byte("2009-04-12 09:50:16.804849 IP 127.0.0.1.42167 > 127.0.0.1.3306: tcp 37\n\t0x0000:  4508 0059 6eb2 4000 4006 cde2 7f00 0001\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		b := New(Options{})
		if err := b.ReadCapture("capture", bytes.NewReader(content)); err != nil {
			return
		}
		b.Digest().Report()
	})
}
