package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	ms = time.Millisecond
	cl = "10.0.0.1:50000"
	sv = "10.0.0.2:3306"
)

// summaryOf is one event in short, for tables.
func summaryOf(e seen) string {
	s := fmt.Sprintf("%s %q", e.Command, e.Query)
	if e.RowsSent > 0 {
		s += fmt.Sprintf(" rows=%d", e.RowsSent)
	}
	if e.RowsAffected > 0 {
		s += fmt.Sprintf(" affected=%d", e.RowsAffected)
	}
	if e.ErrorCode > 0 {
		s += fmt.Sprintf(" error=%d %s", e.ErrorCode, e.ErrorText)
	}
	if len(e.Args) > 0 {
		s += " args=" + strings.Join(e.Args, ",")
	}
	if e.Answered {
		s += fmt.Sprintf(" %v", e.Latency)
		if e.Total != e.Latency {
			s += fmt.Sprintf("..%v", e.Total)
		}
	}
	for _, f := range []struct {
		is   bool
		text string
	}{{e.Incomplete, "incomplete"}, {e.Truncated, "truncated"}} {
		if f.is {
			s += " " + f.text
		}
	}
	return s
}

func check(t *testing.T, name string, list []seen, want ...string) {
	t.Helper()
	var got []string
	for _, e := range list {
		if e.Command != Connect || e.ErrorCode != 0 {
			got = append(got, summaryOf(e))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func prepareOK(id uint32, cols, params int, eof bool) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0}, id)
	b = append(b, byte(cols), 0, byte(params), 0, 0, 0, 0)
	out, seq := bodyPacket(1, b), byte(2)
	for _, n := range []int{params, cols} {
		for range n {
			out = append(out, columnPacket(seq)...)
			seq++
		}
		if n > 0 && eof {
			out = append(out, eofPacket(seq, 2, 0)...)
			seq++
		}
	}
	return out
}

func executePacket(id uint32, rest ...byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, id)
	return commandPacket(Execute, append(b, 0, 1, 0, 0, 0), rest)
}

func statementPacket(c Command, id uint32, rest ...byte) []byte {
	return commandPacket(c, binary.LittleEndian.AppendUint32(nil, id), rest)
}

// replace puts a sequence number on each packet of an answer, from first.
func renumber(first byte, d []byte) []byte {
	d = slices.Clone(d)
	for rest := d; len(rest) >= headSize; first++ {
		rest[3] = first
		rest = rest[headSize+uint24(rest):]
	}
	return d
}

func TestProtocol(t *testing.T) {
	const dep = capsClassic | capDeprecateEOF
	ask := func(k *talk, q []byte, answer ...[]byte) *talk {
		return k.wait(ms).c(q).wait(ms).s(answer...)
	}
	type script struct {
		name string
		caps uint32
		run  func(k *talk)
		want []string
	}
	for _, x := range []script{
		{"result sets", capsClassic, func(k *talk) {
			ask(k, queryPacket("SELECT 1"), resultPackets(1, 1, false, 2))
			ask(k, queryPacket("SELECT 0"), resultPackets(0, 1, false, 2))
			ask(k, queryPacket("SELECT many"), resultPackets(3000, 300, false, 2))
		}, []string{`query "SELECT 1" rows=1 1ms`, `query "SELECT 0" 1ms`, `query "SELECT many" rows=3000 1ms..1.636ms`}},
		{"result sets without EOF", dep, func(k *talk) {
			ask(k, queryPacket("SELECT 1"), resultPackets(1, 1, true, 2))
			ask(k, queryPacket("SELECT 0"), resultPackets(0, 1, true, 2))
			ask(k, queryPacket("SELECT wide"), resultPackets(2, 70_000, true, 2))
		}, []string{`query "SELECT 1" rows=1 1ms`, `query "SELECT 0" 1ms`, `query "SELECT wide" rows=2 1ms..1.096ms`}},
		{"MariaDB's cached metadata, MySQL's optional metadata", dep, func(k *talk) {
			r := resultPackets(2, 3, true, 2)
			rows := r[headSize+1+len(columnPacket(0)):]
			ask(k, queryPacket("a"), bodyPacket(1, []byte{1, 0}), renumber(2, rows))
			ask(k, queryPacket("b"), bodyPacket(1, []byte{1, 1}), r[headSize+1:])
			ask(k, queryPacket("c"), bodyPacket(1, []byte{0, 1}), renumber(2, rows))
		}, []string{`query "a" rows=2 1ms`, `query "b" rows=2 1ms`, `query "c" rows=2 1ms`}},
		{"errors", capsClassic, func(k *talk) {
			ask(k, queryPacket("SELEC"), errorPacket(1, 1064, "syntax"))
			r := resultPackets(2, 3, false, 2)
			ask(k, queryPacket("KILLED"), r[:len(r)-9], errorPacket(9, 1317, "interrupted"))
			ask(k, commandPacket(InitDB, []byte("nowhere")), errorPacket(1, 1049, "Unknown database"))
			ask(k, queryPacket("INSERT 1"), okPacket(1, 300, 2, 0))
		}, []string{`query "SELEC" error=1064 syntax 1ms`, `query "KILLED" rows=2 error=1317 interrupted 1ms`,
			`init_db "nowhere" error=1049 Unknown database 1ms`, `query "INSERT 1" affected=300 1ms`}},
		{"progress reports", capsClassic, func(k *talk) {
			ask(k, queryPacket("ALTER"), bodyPacket(1, []byte{0xff, 0xff, 0xff, 1, 1, 2, 0, 0, 0, 4, 'c', 'o', 'p', 'y'}))
			k.wait(3*ms).s(bodyPacket(2, []byte{0xff, 0xff, 0xff, 1, 2, 2, 0, 0, 0, 0}), okPacket(3, 0, 2, 0))
		}, []string{`query "ALTER" 1ms..4ms`}},
		{"several statements", capsClassic, func(k *talk) {
			ask(k, queryPacket("SELECT ';' ; UPDATE t -- ; \n SET a=1;SELECT `;`;"), resultPackets(2, 3, false, 2|statusMoreResults))
			k.wait(2 * ms).s(okPacket(6, 5, 2|statusMoreResults, 0)).wait(3 * ms).s(renumber(7, resultPackets(4, 3, false, 2)))
			ask(k, queryPacket("CALL p()"), resultPackets(2, 3, false, 2|statusMoreResults), okPacket(8, 0, 2, 0))
			ask(k, queryPacket("SELECT 1; SELEC; SELECT 3"), resultPackets(1, 3, false, 2|statusMoreResults), errorPacket(9, 1064, "no"))
		}, []string{`query "SELECT ';'" rows=2 1ms`, `query "UPDATE t -- ; \n SET a=1" affected=5 2ms`, "query \"SELECT `;`\" rows=4 3ms",
			`query "CALL p()" rows=2 1ms`, `query "SELECT 1" rows=1 1ms`, `query "SELEC" error=1064 no 0s`}},
		{"prepared statements", capsClassic, func(k *talk) {
			ask(k, commandPacket(Prepare, []byte("SELECT a FROM t WHERE b=? AND c=?")), prepareOK(7, 1, 2, true))
			ask(k, executePacket(7, 0, 1, 3, 0, 254, 0, 42, 0, 0, 0, 2, 'x', '\''), resultPackets(2, 1, false, 2))
			ask(k, executePacket(7, 2, 0, 0xff, 0xff, 0xff, 0xff), resultPackets(1, 1, false, 2))
			k.wait(ms).c(statementPacket(LongData, 7, 1, 0, 'p', 'q')).wait(ms).c(statementPacket(LongData, 7, 1, 0, 'r'))
			ask(k, executePacket(7, 0, 1, 3, 0x80, 252, 0, 1, 0, 0, 0), resultPackets(0, 1, false, 2))
			ask(k, statementPacket(ResetStatement, 7), okPacket(1, 0, 2, 0))
			ask(k, slices.Concat(statementPacket(CloseStatement, 7), commandPacket(Prepare, []byte("bad"))), errorPacket(1, 1064, "no"))
			ask(k, executePacket(7), errorPacket(1, 1243, "Unknown prepared statement"))
		}, []string{`prepare "SELECT a FROM t WHERE b=? AND c=?" 1ms`,
			`execute "SELECT a FROM t WHERE b=? AND c=?" rows=2 args=42,'x\'' 1ms`,
			`execute "SELECT a FROM t WHERE b=? AND c=?" rows=1 args=-1,NULL 1ms`,
			`long_data "SELECT a FROM t WHERE b=? AND c=?"`, `long_data "SELECT a FROM t WHERE b=? AND c=?"`,
			`execute "SELECT a FROM t WHERE b=? AND c=?" args=1,'pqr' 1ms`,
			`reset "SELECT a FROM t WHERE b=? AND c=?" 1ms`, `close "SELECT a FROM t WHERE b=? AND c=?"`,
			`prepare "bad" error=1064 no 1ms`, `execute "" error=1243 Unknown prepared statement 1ms`}},
		{"prepared statements without EOF", dep, func(k *talk) {
			ask(k, commandPacket(Prepare, []byte("SELECT ?")), prepareOK(1, 1, 1, false))
			ask(k, executePacket(1, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f), resultPackets(1, 1, true, 2))
		}, []string{`prepare "SELECT ?" 1ms`, `execute "SELECT ?" rows=1 args=1.5 1ms`}},
		{"dates", capsClassic, func(k *talk) {
			ask(k, commandPacket(Prepare, []byte("SELECT ?,?,?,?")), prepareOK(1, 0, 4, true))
			ask(k, executePacket(1, 0, 1, 12, 0, 10, 0, 11, 0, 12, 0,
				11, 0xe8, 7, 3, 1, 12, 5, 9, 1, 0, 0, 0, 4, 0xe8, 7, 12, 31, 8, 1, 1, 0, 0, 0, 2, 3, 4, 7, 0xe8, 7, 1, 2, 3, 4, 5), okPacket(1, 0, 2, 0))
		}, []string{`prepare "SELECT ?,?,?,?" 1ms`, `execute "SELECT ?,?,?,?" args='2024-03-01 12:05:09.000001','2024-12-31','-26:03:04','2024-01-02 03:04:05' 1ms`}},
		{"cursors", capsClassic, func(k *talk) {
			ask(k, commandPacket(Prepare, []byte("SELECT a")), prepareOK(1, 1, 0, true))
			r := resultPackets(0, 1, false, 2)
			ask(k, executePacket(1), r[:len(r)-18], eofPacket(3, 2|statusCursorExists, 0))
			row := bodyPacket(1, []byte{0, 0, 5})
			ask(k, statementPacket(Fetch, 1, 2, 0, 0, 0), row, renumber(2, row), eofPacket(3, 2|statusCursorExists, 0))
			ask(k, statementPacket(Fetch, 1, 2, 0, 0, 0), row, eofPacket(2, 130, 0))
		}, []string{`prepare "SELECT a" 1ms`, `execute "SELECT a" 1ms`, `fetch "SELECT a" rows=2 1ms`, `fetch "SELECT a" rows=1 1ms`}},
		{"MariaDB: prepare and execute in one go, bulk", dep, func(k *talk) {
			k.wait(ms).c(commandPacket(Prepare, []byte("INSERT ?")), executePacket(lastStatement, 0, 1, 3, 0, 9, 0, 0, 0))
			k.wait(ms).s(prepareOK(9, 0, 1, false)).wait(2 * ms).s(okPacket(1, 1, 2, 0))
			ask(k, statementPacket(BulkExecute, 9, 128, 0, 3, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0), okPacket(1, 2, 2, 0))
		}, []string{`prepare "INSERT ?" 1ms`, `execute "INSERT ?" affected=1 args=9 2ms`, `bulk_execute "INSERT ?" affected=2 1ms`}},
		{"load data local", capsClassic, func(k *talk) {
			ask(k, queryPacket("LOAD DATA LOCAL INFILE 'x'"), bodyPacket(1, []byte("\xfbx")))
			k.wait(ms).c(bodyPacket(2, bytes.Repeat([]byte("a,b\n"), 2000)), queryPacket("not a query"), bodyPacket(3)).wait(ms).s(okPacket(4, 2000, 2, 3))
			ask(k, queryPacket("SELECT 1"), okPacket(1, 0, 2, 0))
		}, []string{`query "LOAD DATA LOCAL INFILE 'x'" affected=2000 1ms..3.005ms`, `query "SELECT 1" 1ms`}},
		{"small commands", capsClassic, func(k *talk) {
			ask(k, commandPacket(Ping), okPacket(1, 0, 2, 0))
			ask(k, commandPacket(Statistics), bodyPacket(1, []byte("Uptime: 1  Threads: 1")))
			ask(k, commandPacket(FieldList, []byte("t\x00")), columnPacket(1), columnPacket(2), eofPacket(3, 2, 0))
			ask(k, commandPacket(SetOption, []byte{0, 0}), eofPacket(1, 2, 0))
			ask(k, commandPacket(ResetConnection), okPacket(1, 0, 2, 0))
			ask(k, commandPacket(InitDB, []byte("other")), okPacket(1, 0, 2, 0))
			ask(k, commandPacket(ProcessInfo), resultPackets(2, 9, false, 2))
			ask(k, commandPacket(Debug), eofPacket(1, 2, 0))
			k.wait(ms).c(commandPacket(Quit))
		}, []string{`ping "" 1ms`, `statistics "" 1ms`, `field_list "t\x00" 1ms`, `set_option "\x00\x00" 1ms`, `reset_connection "" 1ms`,
			`init_db "other" 1ms`, `process_info "" rows=2 1ms`, `debug "" 1ms`, `quit ""`}},
		{"requests sent without waiting", capsClassic, func(k *talk) {
			k.wait(ms).c(queryPacket("A"), queryPacket("B")).wait(ms).c(queryPacket("C"), statementPacket(CloseStatement, 5))
			k.wait(ms).s(okPacket(1, 1, 2, 0)).wait(ms).s(okPacket(1, 2, 2, 0), okPacket(1, 3, 2, 0))
			ask(k, queryPacket("D"), okPacket(1, 4, 2, 0))
		}, []string{`query "A" affected=1 2ms`, `query "B" affected=2 1ms`, `query "C" affected=3 0s`, `close ""`, `query "D" affected=4 1ms`}},
		{"query attributes", capsClassic | capQueryAttrs, func(k *talk) {
			ask(k, commandPacket(Query, []byte{0, 1}, []byte("SELECT 1")), okPacket(1, 0, 2, 0))
			ask(k, commandPacket(Query, []byte{2, 1, 2, 1, 254, 0, 2, 'i', 'd', 3, 0, 1, 'n', 3, 'x', 'y', 'z'}, []byte("SELECT 2")), okPacket(1, 0, 2, 0))
			ask(k, commandPacket(Prepare, []byte("SELECT ?")), prepareOK(1, 0, 1, true))
			ask(k, commandPacket(Execute, []byte{1, 0, 0, 0, hasParameterCount, 1, 0, 0, 0, 2, 0, 1, 8, 0, 0, 254, 0, 2, 'i', 'd', 5, 0, 0, 0, 0, 0, 0, 0, 1, 'z'}), okPacket(1, 0, 2, 0))
		}, []string{`query "SELECT 1" 1ms`, `query "SELECT 2" 1ms`, `prepare "SELECT ?" 1ms`, `execute "SELECT ?" args=5 1ms`}},
		{"a packet of 16 MiB and more", capsClassic, func(k *talk) {
			k.mss = 60_000
			k.wait(ms).c(queryPacket("INSERT " + strings.Repeat("x", 17<<20))).wait(ms).s(okPacket(2, 1, 2, 0))
			row := append([]byte{0xfd, 0, 0, 0x20}, make([]byte, 1<<21)...)
			huge := append([]byte{0xfe, 0, 0, 0, 1, 0, 0, 0, 0}, make([]byte, 1<<24)...)
			r := resultPackets(0, 1, false, 2)
			ask(k, queryPacket("SELECT huge"), r[:len(r)-9], bodyPacket(4, row), bodyPacket(5, huge), bodyPacket(7, huge), eofPacket(9, 2, 0))
		}, []string{`query "INSERT` + " " + strings.Repeat("x", 1<<20-7) + `" affected=1 1ms truncated`, `query "SELECT huge" rows=3 1ms..1.594ms`}},
	} {
		k := newTalk(cl, sv).login(x.caps)
		x.run(k)
		list, sum := readAll(t, pcapOf(k.fin().pieces...), Options{})
		check(t, x.name, list, x.want...)
		if x.name == "several statements" {
			for n, e := range list[1:4] {
				if e.Statement != n+1 {
					t.Errorf("statement %d is numbered %d", n+1, e.Statement)
				}
			}
		}
		for _, r := range []reason{oddPacket, lostFromClient, lostFromServer, noRequest, noAnswer, requestUnfinished, foreign} {
			if n := remark(sum, r); n > 0 {
				t.Errorf("%s: %d %s", x.name, n, reasonText[r])
			}
		}
		// The same with the bytes in other segments, and without the login.
		for _, mss := range []int{1, 3, 7, 100} {
			if strings.Contains(x.name, "16 MiB") {
				break
			}
			k := newTalk(cl, sv).login(x.caps)
			k.mss = mss
			x.run(k)
			again, _ := readAll(t, pcapOf(k.fin().pieces...), Options{})
			if a, b := texts(list), texts(again); !slices.Equal(a, b) {
				t.Errorf("%s in segments of %d:\n got %s\nwant %s", x.name, mss, strings.Join(b, "\n     "), strings.Join(a, "\n     "))
			}
		}
		k = newTalk(cl, sv)
		k.wait(2 * ms)
		x.run(k)
		late, _ := readAll(t, pcapOf(k.fin().pieces...), Options{})
		check(t, x.name+", joined late", late, x.want...)
		for _, e := range late {
			if e.User != "" {
				t.Errorf("a user out of nothing: %+v", e)
			}
		}
	}
}

// texts is everything about events but their times.
func texts(list []seen) (out []string) {
	for _, e := range list {
		e.Latency, e.Total, e.Answered = 0, 0, false
		out = append(out, fmt.Sprintf("%s user=%s db=%s bytes=%d", summaryOf(e), e.User, e.DB, e.BytesSent))
	}
	return out
}
