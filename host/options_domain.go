package host

// The GTID domain that 'stowage domains separate' gives to a server is at the end of its option file, between two lines
// by which the way back finds it. Options there win over the same ones before.
const (
	domainBegins = "# stowage: a GTID domain that no other server of the farm writes. These lines are taken out by: stowage domains undo"
	domainEnds   = "# stowage: end of the GTID domain"
)

// DomainOptions is the text of an instance's option file with these lines for its server in place of those of an earlier call; without
// lines there are none.
func DomainOptions(i Instance, text string, lines []string) string {
	return i.block(text, domainBegins, lines, domainEnds)
}
