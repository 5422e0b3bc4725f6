package host

import "strings"

// A replication connection beside the twin's has filters, which a running
// server forgets when it restarts, while it keeps the connection. These lines
// of an option file keep the filters of one.
const (
	linkBegins = "# stowage: filters of the connection by which a shard comes here. These lines go when it has come."
	linkEnds   = "# stowage: end of the filters"
)

// LinkOptions is the text of an option file with these lines for its server in
// place of those of an earlier call; without lines there are none.
func LinkOptions(text string, lines []string) string {
	text = without(text, linkBegins, linkEnds)
	if len(lines) == 0 {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + linkBegins + "\n[" + ServerGroup(text) + "]\n" + strings.Join(lines, "\n") + "\n" + linkEnds + "\n"
}

// without is the text without what stands between two lines, and those.
func without(text, begins, ends string) string {
	before, rest, found := strings.Cut(text, begins+"\n")
	if !found {
		return text
	}
	_, after, found := strings.Cut(rest, ends+"\n")
	if !found { // somebody has edited it; the options that are left say so themselves
		return text
	}
	return before + after
}
