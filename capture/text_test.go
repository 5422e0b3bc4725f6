package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// textForm is how tcpdump was asked to print.
type textForm struct {
	time func(time.Time) string
	head func(p *piece) string
	link func(ip []byte) []byte // -xx: with the header of the link layer
	more func(row []byte) string
	eol  string
}

func plainForm() textForm {
	return textForm{
		time: func(t time.Time) string { return t.Format("2006-01-02 15:04:05.000000") },
		head: func(p *piece) string { return fmt.Sprintf("%s: tcp %d", route(p), len(p.data)) },
		link: func(ip []byte) []byte { return ip },
		more: func([]byte) string { return "" },
		eol:  "\n",
	}
}

func route(p *piece) string {
	end := func(a netip.AddrPort) string { return fmt.Sprintf("%s.%d", a.Addr(), a.Port()) }
	kind := "IP"
	if p.src.Addr().Is6() {
		kind = "IP6"
	}
	return fmt.Sprintf("%s %s > %s", kind, end(p.src), end(p.dst))
}

// textOf is what tcpdump prints of pieces.
func textOf(f textForm, pieces []piece) []byte {
	var b bytes.Buffer
	for k := range pieces {
		p := &pieces[k]
		d := p.ipOf()
		if p.snap >= 0 && p.snap < len(p.data) {
			d = d[:len(d)-len(p.data)+p.snap]
		}
		d = f.link(d)
		fmt.Fprintf(&b, "%s %s%s", f.time(p.at), f.head(p), f.eol)
		for at := 0; at < len(d); at += 16 {
			row := d[at:min(at+16, len(d))]
			fmt.Fprintf(&b, "\t0x%04x: ", at)
			for k, c := range row {
				if k%2 == 0 {
					b.WriteByte(' ')
				}
				fmt.Fprintf(&b, "%02x", c)
			}
			b.WriteString(f.more(row) + f.eol)
		}
	}
	return b.Bytes()
}

func printable(row []byte) string {
	s := strings.Repeat(" ", 2+(16-len(row))*5/2)
	for _, c := range row {
		if c < ' ' || c > '~' {
			c = '.'
		}
		s += string(rune(c))
	}
	return s
}

// The text of tcpdump tells what the file tells, however it was printed.
func TestTextForms(t *testing.T) {
	for name, change := range map[string]func(f *textForm){
		"-x -n -q -tttt":   func(*textForm) {},
		"CRLF":             func(f *textForm) { f.eol = "\r\n" },
		"-X":               func(f *textForm) { f.more = printable },
		"-xx":              func(f *textForm) { f.link = ethernet },
		"-xx of -i any":    func(f *textForm) { f.link = func(ip []byte) []byte { return cookedHead(ip, 1) } },
		"-xx of -i any, 2": func(f *textForm) { f.link = func(ip []byte) []byte { return cookedHead(ip, 2) } },
		"-XX of a VLAN": func(f *textForm) {
			f.link, f.more = func(ip []byte) []byte { return tagged(ip, etherVLAN) }, printable
		},
		"-xx, an address like a header": func(f *textForm) {
			f.link = func(ip []byte) []byte {
				e := ethernet(ip)
				copy(e, []byte{0x45, 0x10, 0, 9, 1, 1, 0x60, 1, 2, 3, 4, 5})
				return e
			}
		},
		"-tt": func(f *textForm) {
			f.time = func(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }
		},
		"nanoseconds": func(f *textForm) {
			f.time = func(t time.Time) string { return t.Format("2006-01-02 15:04:05.000000000") }
		},
		"-i any": func(f *textForm) { f.head = func(p *piece) string { return "eth0  In  " + route(p) + ": tcp 1" } },
		"-e": func(f *textForm) {
			f.head = func(p *piece) string {
				return "00:00:00:00:00:01 > 00:00:00:00:00:02, ethertype IPv4, length 103: " + route(p) + ": tcp 1"
			}
		},
		"-v": func(f *textForm) {
			f.head = func(p *piece) string {
				kind, rest, _ := strings.Cut(route(p), " ")
				return kind + " (tos 0x0, ttl 64, id 1, offset 0, flags [DF], proto TCP (6), length 52)\n    " + rest + ": tcp 0"
			}
		},
	} {
		for _, ends := range [][2]string{{cl, sv}, {"[fd00::1]:50000", "[fd00::2]:3306"}} {
			f := plainForm()
			change(&f)
			file := textOf(f, shortTalk(ends[0], ends[1]).pieces)
			if FormatOf(file) != FormatText || !IsCapture(file) {
				t.Errorf("%s is not taken for the text of tcpdump", name)
				continue
			}
			list, sum := readAll(t, file, Options{})
			if len(list) != 4 || sum.Format != FormatText || len(sum.Skipped) > 0 {
				t.Errorf("%s: %d events; %+v", name, len(list), sum)
				continue
			}
			checkShort(t, list)
			checkShortTimes(t, list)
		}
	}
}

// Copies, disorder and a snap length come to the same in the text as in the file.
func TestTextIsTheFile(t *testing.T) {
	k := newTalk(cl, sv).login(capsClassic).c(commandPacket(Prepare, []byte("SELECT ?, ?"))).wait(ms).s(prepareOK(3, 2, 1, false)).wait(ms).
		c(executePacket(3, 0, 1, 3, 0, 0xfd, 0, 5, 0, 0, 0, 2, 'h', 'i')).wait(ms).s(resultPackets(4, 9, false, 2)).wait(ms)
	k.mss = 100
	k.c(queryPacket("SELECT '" + strings.Repeat("long ", 100) + "'")).wait(ms).s(resultPackets(50, 100, false, 2)).wait(ms).c(queryPacket("SELECT 'cut off'")).
		wait(ms).s(resultPackets(9, 100, false, 2)).wait(ms).c(commandPacket(Quit)).fin()
	pieces := slices.Clone(k.pieces)
	n := len(pieces)
	pieces[n/2], pieces[n/2+1] = pieces[n/2+1], pieces[n/2]
	pieces = slices.Insert(pieces, n/2+6, pieces[n/2])
	for i := len(pieces) - 16; i < len(pieces); i++ {
		pieces[i].snap = 12
	}
	want, _ := readAll(t, pcapOf(pieces...), Options{})
	got, sum := readAll(t, textOf(plainForm(), pieces), Options{})
	if a, b := exact(got), exact(want); !slices.Equal(a, b) || len(got) < 5 || remark(sum, snapped) == 0 {
		t.Errorf("%s\n%+v", difference(a, b), sum)
	}
}

func TestTextOddities(t *testing.T) {
	text := string(textOf(plainForm(), shortTalk(cl, sv).pieces))
	said := "tcpdump: verbose output suppressed, use -v for full protocol decode\nreading from file x.pcap, link-type EN10MB (Ethernet), snapshot length 65535\n\n"
	list, sum := readAll(t, []byte(said+text), Options{})
	if checkShort(t, list); len(sum.Skipped) > 0 {
		t.Errorf("%+v", sum)
	}
	odd := text + "what is this\n" + "2024-03-01 12:00:09.000000 IP 1.2.3.4.5 > 1.2.3.4.6: UDP, length 9\n" +
		"2024-03-01 12:00:09.000000 ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28\n\t0x0000:  0001 0800 0604 0001 0000 0000 0001 0a00 0001 0000\n" +
		strings.Repeat("z", 600_000) + "\n" + "2024-03-01 12:00:10.000000 IP 10.0.0.1.5 > 10.0.0.2.3306: tcp 9\n\t0x0000:  4500 00"
	list, sum = readAll(t, []byte(odd), Options{})
	checkShort(t, list)
	for _, want := range []Remark{
		{reasonText[noPacket], 2, int64(len(text)), true}, {reasonText[noBytes], 1, int64(len(text) + 13), true},
	} {
		if !slices.Contains(sum.Skipped, want) {
			t.Errorf("no %+v in %+v", want, sum.Skipped)
		}
	}
	for _, other := range []string{
		"", "hello", "# Time: 2024-03-01T12:00:00.000000Z\n", "2024-03-01T12:00:00.000000Z\t    3 Query\tSELECT ' IP '\n",
		"2024-03-01 12:00:00 IP address\n", "2024-13-01 12:00:00.000000 IP 1.2.3.4.5 > 1.2.3.4.6: tcp 0\n", "1709294400.5 IP x\n",
		"2024-03-01 12:00:00.123456 [Note] mariadbd: ready for connections.\n",
	} {
		if IsCapture([]byte(other)) {
			t.Errorf("%q is taken for a capture", other)
		}
	}
}

// What tcpdump itself prints of a file tells what the file tells.
func TestTextOfTcpdump(t *testing.T) {
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip("NOT TESTED: the text of tcpdump itself: it is not installed")
	}
	talks := []*talk{longTalk(cl, 20, capsClassic, rand.New(rand.NewPCG(1, 5))), longTalk("10.0.0.1:50001", 20, capsClassic|capCompress, rand.New(rand.NewPCG(2, 5))), shortTalk("[fd00::1]:50000", "[fd00::2]:3306")}
	var pieces []piece
	for _, k := range talks {
		pieces = append(pieces, k.pieces...)
	}
	file := pcapOf(pieces...)
	name := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	want, _ := readAll(t, file, Options{})
	for _, how := range []string{"-x -n -q -tttt", "-xx -n -tt", "-X -n -tttt -v", "-XX -n -e -tttt"} {
		cmd := exec.CommandContext(t.Context(), path, append(strings.Fields(how), "-r", name)...)
		cmd.Env = append(os.Environ(), "TZ=UTC")
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("NOT TESTED: the text of tcpdump itself: %v", err)
		}
		list, sum := readAll(t, out, Options{})
		if a, b := exact(list), exact(want); !slices.Equal(a, b) || len(want) != 22+22+4 || len(sum.Skipped) > 0 {
			t.Errorf("%s: %s\n%+v", how, difference(a, b), sum)
		}
	}
}

func BenchmarkReadText(b *testing.B) {
	file := textOf(plainForm(), shortTalk(cl, sv).pieces)
	file = bytes.Repeat(file, 2000)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read("bench", bytes.NewReader(file), Options{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
