// Package serve answers: what is going on in this workspace, for whoever has a browser?
//
// Its main type is Server: pages, their facts as JSON, and a stream that keeps pages up to date while a move runs. What the pages say comes from Sources,
// functions that are handed in; every picture comes from package report as a report.Piece. So there is no drawing here, no file, no store and no server.
//
// Invariants:
//
//   - Only GET and HEAD, and nothing that they lead to writes; POST for the one form, with which a viewer signs in. What a person may do about what is seen is shown as
//     a command, to be run by that person.
//   - Nobody sees a fact without a session: of the link of this start, which works once, or of a token that is in the list now. Scripts send the token itself, to /api.
//   - The Host header must be an address, localhost, the name that was listened on, or one of the certificate: a name that somebody else's page makes lead here is refused.
//   - The log has who looks at which page, never a token and never a fact.
//   - Pages load nothing from anywhere else. The policy allows what is served here, and the one style a piece brings along, by its hash.
//   - What cannot be read is a line on the page, with cause and remedy; the rest of the page is there.
//   - Without JavaScript all figures are there; live pages then reload by themselves.
package serve
