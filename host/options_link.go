package host

// A replication connection beside the twin's has filters, which a running
// server forgets when it restarts, while it keeps the connection. These lines
// of an option file keep the filters of one.
const (
	linkBegins = "# stowage: filters of the connection by which a shard comes here. These lines are removed when it has arrived."
	linkEnds   = "# stowage: end of the filters"
)

// LinkOptions is the text of an instance's option file with these lines for its
// server in place of those of an earlier call; without lines there are none.
func LinkOptions(i Instance, text string, lines []string) string {
	return i.block(text, linkBegins, lines, linkEnds)
}

// block is the text of an instance's option file with these lines for its server
// at the end, in place of those of an earlier call; without lines there are none.
func (i Instance) block(text, begins string, lines []string, ends string) string {
	if i.GroupSuffix != "" {
		begins += " They are of [" + i.Group("") + "]."
	}
	text = without(text, begins, ends)
	if len(lines) == 0 {
		return text
	}
	return appendBlock(text, begins, append([]string{"[" + i.Group(text) + "]"}, lines...), ends)
}
