package capture

import "strconv"

// Command is the first byte of a request, numbered as in the protocol.
type Command byte

// The commands. Connect is the login: its request is the client's answer to
// the greeting.
const (
	Quit            Command = 0x01
	InitDB          Command = 0x02
	Query           Command = 0x03
	FieldList       Command = 0x04
	CreateDB        Command = 0x05
	DropDB          Command = 0x06
	Refresh         Command = 0x07
	Shutdown        Command = 0x08
	Statistics      Command = 0x09
	ProcessInfo     Command = 0x0a
	Connect         Command = 0x0b
	ProcessKill     Command = 0x0c
	Debug           Command = 0x0d
	Ping            Command = 0x0e
	ChangeUser      Command = 0x11
	BinlogDump      Command = 0x12
	TableDump       Command = 0x13
	RegisterReplica Command = 0x15
	Prepare         Command = 0x16
	Execute         Command = 0x17
	LongData        Command = 0x18
	CloseStatement  Command = 0x19
	ResetStatement  Command = 0x1a
	SetOption       Command = 0x1b
	Fetch           Command = 0x1c
	BinlogDumpGTID  Command = 0x1e
	ResetConnection Command = 0x1f
	BulkExecute     Command = 0xfa // MariaDB only
)

// commandNames are the words of Command.String.
var commandNames = map[Command]string{
	Quit: "quit", InitDB: "init_db", Query: "query", FieldList: "field_list", CreateDB: "create_db", DropDB: "drop_db",
	Refresh: "refresh", Shutdown: "shutdown", Statistics: "statistics", ProcessInfo: "process_info", Connect: "connect",
	ProcessKill: "process_kill", Debug: "debug", Ping: "ping", ChangeUser: "change_user", BinlogDump: "binlog_dump",
	TableDump: "table_dump", RegisterReplica: "register_replica", Prepare: "prepare", Execute: "execute", LongData: "long_data",
	CloseStatement: "close", ResetStatement: "reset", SetOption: "set_option", Fetch: "fetch",
	BinlogDumpGTID: "binlog_dump_gtid", ResetConnection: "reset_connection", BulkExecute: "bulk_execute",
}

func (c Command) String() string {
	if name, ok := commandNames[c]; ok {
		return name
	}
	return "command 0x" + strconv.FormatUint(uint64(c), 16)
}

// hasAnswer says whether the server says anything to it.
func (c Command) hasAnswer() bool { return c != Quit && c != CloseStatement && c != LongData }

// isReplication says whether a stream of events follows that has no end.
func (c Command) isReplication() bool {
	return c == BinlogDump || c == BinlogDumpGTID || c == TableDump
}

// fits says whether a command can have a body of that size, the command byte
// included, that begins so. Sources: MySQL internals, "Text Protocol" and
// "Prepared Statements"; MariaDB knowledge base, "Client/Server Protocol".
func (c Command) fits(body []byte, size int) bool {
	switch c {
	case Quit, Statistics, ProcessInfo, Debug, Ping, ResetConnection:
		return size == 1
	case CloseStatement, ResetStatement, ProcessKill:
		return size == 5
	case Refresh, Shutdown:
		return size <= 2
	case SetOption:
		return size == 3
	case Fetch:
		return size == 9
	case Execute:
		return size >= 10 && (len(body) < 10 || body[5] < 16 && le.Uint32(body[6:]) == 1)
	case BulkExecute:
		return size >= 7
	case LongData:
		return size >= 7
	case Query, Prepare:
		return size > 1 && (len(body) < 2 || isTextStart(body[1:]))
	case InitDB, CreateDB, DropDB:
		return size > 1 && size <= 1+4*64 && (len(body) < 2 || body[1] >= ' ')
	case FieldList:
		return size > 1 && size <= 1<<10
	case ChangeUser:
		return size > 3 && size < 64<<10
	case BinlogDump, BinlogDumpGTID, TableDump, RegisterReplica:
		return size >= 11 && size < 64<<10
	}
	return false
}

// isTextStart says whether a statement may begin so: with something that can be
// read, or with the count of its attributes (MySQL 8.0.23).
func isTextStart(d []byte) bool {
	c := d[0]
	return c >= ' ' && c != 0x7f || c >= '\t' && c <= '\r' || len(d) > 1 && c < 9 && d[1] == 1
}
