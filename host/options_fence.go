package host

import "strings"

// The fence of an option file: options that win over all before them, between
// two lines by which they are found again. The rest of the file is its owner's
// and comes back byte for byte.
const (
	fenceBegins = "# stowage: out of rotation. It must not take writes, not even after a restart. These lines go when it serves again."
	fenceEnds   = "# stowage: end of these lines"
	serveBegins = "# stowage: takes the writes of its primary for a while. These lines go when the primary serves again."
	serveEnds   = "# stowage: end of the lines of a replica that takes writes"
	holdBegins  = "# stowage: must not apply what its twin writes, not even after a restart: its tables are changed first. These lines go when they are."
	holdEnds    = "# stowage: end of the lines of a server that does not apply yet"
)

// fenceLine begins the fence of an instance. One that shares its file with
// others is named by its group: each of them may have a fence there.
func (i Instance) fenceLine() string {
	if i.GroupSuffix == "" {
		return fenceBegins
	}
	return strings.Replace(fenceBegins, "out of rotation", "["+i.Group("")+"] is out of rotation", 1)
}

// FenceOptions makes the server of this instance, of whose option file this is
// the text, start without taking writes and without firing events; no other
// server that starts with the file does. A file that is fenced comes back as it
// is. MariaDB has no super_read_only, and passes over a loose option that it does
// not know.
func FenceOptions(i Instance, text string) string {
	if IsFenced(i, text) {
		return text
	}
	return appendBlock(text, i.fenceLine(), []string{"[" + i.Group(text) + "]", "read_only = ON", "loose_super_read_only = ON", "event_scheduler = OFF"}, fenceEnds)
}

// UnfenceOptions is the text without what FenceOptions added for this instance.
func UnfenceOptions(i Instance, text string) string { return without(text, i.fenceLine(), fenceEnds) }

// IsFenced reports whether FenceOptions has been at this text.
func IsFenced(i Instance, text string) bool { return UnfenceOptions(i, text) != text }

func (i Instance) serveLine() string {
	if i.GroupSuffix == "" {
		return serveBegins
	}
	return strings.Replace(serveBegins, "takes the writes", "["+i.Group("")+"] takes the writes", 1)
}

// ServeOptions makes the server of this instance start with taking writes,
// whatever its file says before: a replica that takes those of its primary for a
// while. A file that has the block comes back as it is.
func ServeOptions(i Instance, text string) string {
	if UnserveOptions(i, text) != text {
		return text
	}
	return appendBlock(text, i.serveLine(), []string{"[" + i.Group(text) + "]", "read_only = OFF", "loose_super_read_only = OFF"}, serveEnds)
}

// UnserveOptions is the text without what ServeOptions added for this instance.
func UnserveOptions(i Instance, text string) string { return without(text, i.serveLine(), serveEnds) }

func (i Instance) holdLine() string {
	if i.GroupSuffix == "" {
		return holdBegins
	}
	return strings.Replace(holdBegins, "must not apply", "["+i.Group("")+"] must not apply", 1)
}

// HoldOptions makes the server of this instance start without replicating. A file
// that has the block comes back as it is.
func HoldOptions(i Instance, text string) string {
	if UnholdOptions(i, text) != text {
		return text
	}
	return appendBlock(text, i.holdLine(), []string{"[" + i.Group(text) + "]", "loose_skip_slave_start = ON", "loose_skip_replica_start = ON"}, holdEnds)
}

// UnholdOptions is the text without what HoldOptions added for this instance.
func UnholdOptions(i Instance, text string) string { return without(text, i.holdLine(), holdEnds) }

// joined is the end of a block's first line where the line before it had no end.
const joined = " (The line before this one had no end.)"

// appendBlock adds lines to a text, between two lines by which without finds them.
func appendBlock(text, begins string, lines []string, ends string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text, begins = text+"\n", begins+joined
	}
	return text + begins + "\n" + strings.Join(lines, "\n") + "\n" + ends + "\n"
}

// without is the text without what is between two lines, and those.
func without(text, begins, ends string) string {
	before, rest, found := cutLine(text, begins)
	wasJoined := false
	if !found {
		if before, rest, wasJoined = cutLine(text, begins+joined); !wasJoined {
			return text
		}
	}
	_, after, ended := cutLine(rest, ends)
	if !ended { // somebody has edited it; the options that are left say so themselves
		return text
	}
	switch next, more, _ := strings.Cut(after, "\n"); {
	case wasJoined && after == "":
		before = strings.TrimSuffix(before, "\n")
	case wasJoined && strings.HasPrefix(next, ours): // another block, which must know now
		after = next + joined + "\n" + more
	}
	return before + after
}

// ours is how the first line of each block begins.
const ours = "# stowage: "

// cutLine cuts a text around a line that is exactly so.
func cutLine(text, line string) (before, after string, found bool) {
	if after, found = strings.CutPrefix(text, line+"\n"); found {
		return "", after, true
	}
	before, after, found = strings.Cut(text, "\n"+line+"\n")
	if found {
		before += "\n"
	}
	return before, after, found
}
