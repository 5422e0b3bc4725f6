package host

import "strings"

// The fence of an option file: options that win over all before them, between
// two lines by which they are found again. The rest of the file is its owner's
// and comes back byte for byte.
const (
	fenceBegins = "# stowage: out of rotation. It must not take writes, not even after a restart. These lines go when it serves again."
	fenceEnds   = "# stowage: end of these lines"
)

// FenceOptions makes a server of this option file start without taking writes
// and without firing events. A file that is fenced comes back as it is. MariaDB
// has no super_read_only, and passes over a loose option that it does not know.
func FenceOptions(text string) string {
	if IsFenced(text) {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + strings.Join([]string{fenceBegins, "[" + ServerGroup(text) + "]", "read_only = ON", "loose_super_read_only = ON", "event_scheduler = OFF", fenceEnds, ""}, "\n")
}

// UnfenceOptions is the text without what FenceOptions added.
func UnfenceOptions(text string) string { return without(text, fenceBegins, fenceEnds) }

// IsFenced reports whether FenceOptions has been at this text.
func IsFenced(text string) bool { return UnfenceOptions(text) != text }
