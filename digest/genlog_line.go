package digest

import "bytes"

// generalHeader is the parts of a line that begins an event.
type generalHeader struct {
	stamp   []byte // nil when the line has none: the second is that of the line before
	thread  uint64
	command []byte
	arg     int // where the argument begins
}

// generalCommands are what servers write, longest first where one begins another. A line of a statement can begin with a
// number and a word, so anything else is no event.
var generalCommands = [][]byte{
	[]byte("Query"), []byte("Quit"), []byte("Connect Out"), []byte("Connect"), []byte("Init DB"), []byte("Field List"),
	[]byte("Create DB"), []byte("Drop DB"), []byte("Refresh"), []byte("Shutdown"), []byte("Statistics"), []byte("Processlist"),
	[]byte("Kill"), []byte("Debug"), []byte("Ping"), []byte("Time"), []byte("Delayed insert"), []byte("Change user"),
	[]byte("Binlog Dump GTID"), []byte("Binlog Dump"), []byte("Table Dump"), []byte("Register Slave"), []byte("Register Replica"),
	[]byte("Prepare"), []byte("Execute"), []byte("Long Data"), []byte("Close stmt"), []byte("Reset stmt"), []byte("Set option"),
	[]byte("Fetch"), []byte("Daemon"), []byte("Reset Connection"), []byte("Bulk execute"), []byte("Sleep"), []byte("Error"),
}

func isGeneralLine(line []byte) bool {
	_, ok := parseGeneralLine(line)
	return ok
}

// parseGeneralLine reads "[stamp] thread command argument". The stamp may be missing, blanks in its place are not.
func parseGeneralLine(line []byte) (h generalHeader, ok bool) {
	i := stampLength(line)
	if i > 0 {
		h.stamp = line[:i]
	}
	from := i
	i = skipBlanks(line, i)
	if i == from || i >= len(line) || !isDigit(line[i]) {
		return h, false
	}
	for ; i < len(line) && isDigit(line[i]); i++ {
		h.thread = h.thread*10 + uint64(line[i]-'0')
	}
	if i >= len(line) || line[i] != ' ' && line[i] != '\t' {
		return h, false
	}
	i++
	for _, c := range generalCommands {
		if !bytes.HasPrefix(line[i:], c) {
			continue
		}
		h.command = line[i : i+len(c)]
		i += len(c)
		if i < len(line) && !isBlank(line[i]) {
			return h, false
		}
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		h.arg = i
		return h, true
	}
	return h, false
}

// stampLength is the length of the stamp a line begins with, or 0.
func stampLength(line []byte) int {
	if len(line) < 15 || !isDigit(line[0]) {
		return 0
	}
	if len(line) > 20 && line[4] == '-' && line[10] == 'T' {
		i := 11
		for i < len(line) && !isBlank(line[i]) {
			i++
		}
		return i
	}
	if _, ok := oldStamp(line[:15]); !ok {
		return 0
	}
	return 15
}
