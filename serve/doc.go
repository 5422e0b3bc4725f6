// Package serve answers: what is going on in this workspace, for whoever has a browser?
//
// Its main type is Server: pages, their facts as JSON, and a stream that keeps pages up to date while a move runs. What the pages say comes from Sources,
// functions that are handed in; every picture comes from package report as a report.Piece. So there is no drawing here, no file, no store and no server.
//
// Invariants:
//
//   - Only GET and HEAD, and nothing that they lead to writes. What a person may do about what is seen is shown as a command, to be run by that person.
//   - Nobody sees a fact without the session that the link of this start gave out. The link works once.
//   - The Host header must be an address, localhost, or the name that was listened on: a name that somebody else's page makes lead here is refused.
//   - Pages load nothing from anywhere else. The policy allows what is served here, and the one style a piece brings along, by its hash.
//   - What cannot be read is a line on the page, with cause and remedy; the rest of the page is there.
//   - Without JavaScript all figures are there; live pages then reload by themselves.
package serve
