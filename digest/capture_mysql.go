package digest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Commands of the client/server protocol (MySQL internals manual, "Text Protocol" and "Binary Protocol").
const (
	comQuit            = 0x01
	comInitDB          = 0x02
	comQuery           = 0x03
	comStatistics      = 0x09
	comProcessInfo     = 0x0a
	comDebug           = 0x0d
	comPing            = 0x0e
	comChangeUser      = 0x11
	comStmtPrepare     = 0x16
	comStmtExecute     = 0x17
	comLongData        = 0x18
	comStmtClose       = 0x19
	comStmtReset       = 0x1a
	comResetConnection = 0x1f
)

// commandNames are what the reference calls commands that are no statements.
var commandNames = map[byte]string{
	0x00: "Sleep", comQuit: "Quit", comInitDB: "Init_db", 0x04: "Field_list", 0x05: "Create_db", 0x06: "Drop_db", 0x07: "Refresh",
	0x08: "Shutdown", comStatistics: "Statistics", comProcessInfo: "Process_info", 0x0b: "Connect", 0x0c: "Process_kill",
	comDebug: "Debug", comPing: "Ping", 0x0f: "Time", 0x10: "Delayed_insert", comChangeUser: "Change_user", 0x12: "Binlog_dump",
	0x13: "Table_dump", 0x14: "Connect_out", 0x15: "Register_slave", 0x1b: "Set_option", 0x1c: "Stmt_fetch",
	0x1d: "Daemon", 0x1e: "Binlog_dump_gtid", comResetConnection: "Reset_connection",
}

const (
	clientConnectWithDB = 1 << 3
	clientCompress      = 1 << 5
	clientProtocol41    = 1 << 9
	clientSSL           = 1 << 11
	clientSecure        = 1 << 15
	clientLengthAuth    = 1 << 21
	clientZstd          = 1 << 26 // MySQL 8.0.18
)

// command takes in data of the client, in order. missing bytes behind it were cut off by the capture, gap bytes in front
// of it were lost.
func (c *capture) command(k *conn, at int64, data []byte, missing, gap int) {
	if gap > 0 {
		c.in.skip("lost segment of a client", c.offset, int64(gap))
		k.buf, k.lost, k.skip, k.wrapped = k.buf[:0], true, 0, k.wrapped[:0]
	}
	switch k.state {
	case connGreeted:
		c.clientHello(k, data)
		return
	case connAuth, connUnreadable:
		return
	}
	if k.lost || k.state == connFresh {
		if !isCommand(data, len(data)+missing) && !(k.compress && isWrappedCommand(data, len(data)+missing)) {
			return
		}
		k.lost, k.state = false, connReady
	}
	if k.compress {
		if missing > 0 {
			c.in.skip("compressed command cut off by the capture", c.offset, int64(missing))
			k.lost = true
			return
		}
		data = k.unwrap(data, c.b.options.MaxStatement)
	}
	if n := min(k.skip, len(data)); n > 0 {
		data = data[n:]
		k.skip -= n
	}
	if len(k.buf) == 0 {
		k.sent, k.offset = at, c.offset
	}
	if room := c.b.options.MaxStatement - len(k.buf); room > 0 {
		k.buf = append(k.buf, data[:min(len(data), room)]...)
	}
	c.frames(k, at, missing)
}

// frames takes the complete packets out of what the client sent.
func (c *capture) frames(k *conn, at int64, missing int) {
	for len(k.buf) >= 4 {
		n := packetLength(k.buf)
		body := k.buf[4:]
		full := len(body) >= n
		if !full && missing == 0 && len(k.buf) < c.b.options.MaxStatement {
			return
		}
		k.cut = !full
		if !full { // cut off by the capture, or longer than is kept
			k.skip = max(0, n-len(body)-missing)
			n = len(body)
		}
		number := k.buf[3]
		if number == 0 && n > 0 {
			k.sent = at // the time of the last piece, as the server begins then
			c.begin(k, at, body[:n])
		}
		k.buf = append(k.buf[:0], body[n:]...)
		if !full {
			k.buf = k.buf[:0]
			return
		}
	}
}

// clientHello reads who the client is, and whether anything behind that can be read.
func (c *capture) clientHello(k *conn, data []byte) {
	if len(data) < 4+32 {
		if len(data) > 9 && data[3] == 1 { // before protocol 4.1
			k.state = connAuth
			k.user = named1(bytes.Clone(zeroString(data[9:])))
		}
		return
	}
	caps := binary.LittleEndian.Uint32(data[4:])
	if caps&clientSSL != 0 && packetLength(data) == 32 {
		k.state = connUnreadable
		c.in.skip("encrypted connection (TLS): its queries cannot be read", c.offset, 0)
		return
	}
	k.state = connAuth
	k.compress = caps&(clientCompress|clientZstd) != 0
	if caps&clientProtocol41 == 0 {
		k.user = named1(bytes.Clone(zeroString(data[9:])))
		return
	}
	rest := data[4+32:]
	user := zeroString(rest)
	k.user = named1(bytes.Clone(user))
	rest = rest[min(len(rest), len(user)+1):]
	if len(rest) == 0 {
		return
	}
	if caps&(clientSecure|clientLengthAuth) != 0 {
		rest = rest[min(len(rest), 1+int(rest[0])):]
	} else {
		rest = rest[min(len(rest), len(zeroString(rest))+1):]
	}
	if caps&clientConnectWithDB != 0 {
		k.db = named1(bytes.Clone(zeroString(rest)))
	}
}

func zeroString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// begin takes in one command.
func (c *capture) begin(k *conn, at int64, body []byte) {
	if k.state == connWaiting { // the client goes on, so there was an answer
		c.in.note("query whose answer was lost: counted without a time", k.offset)
		c.emit(k, at, false, false)
	}
	k.cmd, k.state, k.sent = body[0], connWaiting, at
	arg := body[1:]
	switch k.cmd {
	case comQuery:
		k.text = append(k.text[:0], arg...)
	case comStmtPrepare:
		k.prepare = append(k.prepare[:0], arg...)
		k.text = append(append(k.text[:0], "PREPARE "...), arg...)
	case comStmtExecute:
		c.execute(k, arg)
	case comStmtReset:
		k.text = fmt.Appendf(k.text[:0], "RESET %d", statementID(arg))
	case comLongData: // has no answer
		k.state = connReady
	case comStmtClose: // nor has this
		id := statementID(arg)
		delete(k.stmts, id)
		k.text = fmt.Appendf(k.text[:0], "DEALLOCATE PREPARE %d", id)
		c.emit(k, at, true, false)
	case comQuit:
		c.name(k)
		c.emit(k, at, true, false)
		k.user, k.db = name{}, name{}
	case comInitDB:
		k.nextDB = named1(bytes.Clone(arg))
		c.name(k)
	case comChangeUser:
		k.user = named1(bytes.Clone(zeroString(arg)))
		c.name(k)
	default:
		c.name(k)
	}
}

// name makes the text of a command that is no statement.
func (c *capture) name(k *conn) {
	n, ok := commandNames[k.cmd]
	if !ok {
		n = fmt.Sprintf("0x%02x", k.cmd)
	}
	k.text = append(append(k.text[:0], "administrator command: "...), n...)
}

// execute makes the text of an EXECUTE from that of its PREPARE. Values stay placeholders. Under the rule set lexer it is
// the statement itself, which is how a slow log has it.
func (c *capture) execute(k *conn, arg []byte) {
	k.text = k.text[:0]
	if c.b.options.Rules == RulesPtqd {
		k.text = append(k.text, "EXECUTE "...)
	}
	stmt, ok := k.stmts[statementID(arg)]
	if !ok {
		c.in.note("statement that was prepared before the capture began: its text is not known", c.offset)
		k.text = append(k.text[:0], "EXECUTE (unknown statement)"...)
		return
	}
	k.text = append(k.text, stmt...)
}

func statementID(arg []byte) uint32 {
	if len(arg) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(arg)
}

// answer takes in data of the server, in order.
func (c *capture) answer(k *conn, at int64, data []byte, gap int) {
	if gap > 0 {
		c.in.skip("lost segment of a server", c.offset, int64(gap))
	}
	if len(data) < 5 {
		return
	}
	switch k.state {
	case connFresh:
		if isGreeting(data) {
			k.state = connGreeted
		} else if data[3] == 0 && data[4] == 0xff { // refused before a greeting
			c.connected(k, at, true)
		}
	case connAuth:
		c.authAnswer(k, at, data)
	case connWaiting:
		if data = k.peel(data); len(data) < 5 {
			return
		}
		if gap > 0 {
			c.in.note("query whose answer was lost: counted without a time", k.offset)
			c.emit(k, at, false, false)
			return
		}
		if k.cmd == comStmtPrepare && data[4] == 0 && len(data) >= 9 {
			if k.stmts == nil {
				k.stmts = map[uint32][]byte{}
			}
			if len(k.stmts) < 100_000 {
				k.stmts[binary.LittleEndian.Uint32(data[5:])] = bytes.Clone(k.prepare)
			}
		}
		failed := data[4] == 0xff
		if k.cmd == comInitDB && !failed {
			k.db = k.nextDB
		}
		c.emit(k, at, true, failed)
	}
}

// authAnswer looks through the packets with which a server answers a login: more questions, or yes, or no.
func (c *capture) authAnswer(k *conn, at int64, data []byte) {
	for len(data) >= 5 {
		switch data[4] {
		case 0x00, 0xff:
			c.connected(k, at, data[4] == 0xff)
			return
		}
		data = data[min(len(data), 4+packetLength(data)):]
	}
}

// connected counts a login.
func (c *capture) connected(k *conn, at int64, failed bool) {
	k.cmd, k.sent, k.offset = 0x0b, k.began, c.offset
	c.name(k)
	c.emit(k, at, true, failed)
}

// emit counts the present command. Without timed its latency is not known.
func (c *capture) emit(k *conn, at int64, timed, failed bool) {
	e := event{at: at / 1000, timed: timed, user: k.user, host: k.host, db: k.db, text: k.text}
	if timed {
		e.queryTime = narrow(uint64(max(0, at-k.sent)))
	}
	if failed {
		e.flags |= 1 << flagError
	}
	if bytes.HasPrefix(k.text, []byte("administrator command: ")) {
		e.flags |= 1 << flagAdmin
		e.fingerprint = k.text
	}
	if k.cut {
		c.in.note("query cut off by the capture: classed by its beginning", k.offset)
		k.cut = false
	}
	c.b.add(&c.in, &e)
	k.state = connReady
}
