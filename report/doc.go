// Package report answers: what was the whole change, on paper?
//
// Facts go in, one HTML file comes out: the hosts before and after, the plan
// and its bound, the move as it happened, how long anybody waited, whether the
// queries got faster, what the ledger proves, what was found, and how all this
// was made. The file is attached to a change ticket and read years later, so
// it is complete in itself.
//
// Invariants:
//
//   - The file loads nothing and sends nothing. Its content security policy
//     allows the script and the style it holds, by hash, and nothing else.
//   - Every picture has the same facts as a table beside it. Colour is never
//     the only sign: sides differ by hatching, verdicts by a word and a shape.
//   - Without JavaScript all figures and pictures are there; a script only
//     shows another class of queries than that of most load.
//   - What is not known is left out, and the report says so and names the
//     command that would find it out. Nothing is reckoned up that somebody
//     else measured: quantiles, verdicts and fills are shown as they came.
//   - The same facts make the same bytes.
//
// Before a move there is another paper: PlanDocument, what engineers review
// before a plan is carried out, as HTML in the same style and as Markdown for
// version control. Both lay out one document, and package placement/check has
// judged the plan for it.
//
// BenchDocument is what benches of storages found, on a page of its own or in
// a section of the report; package bench/result judges, and this only draws.
//
// The package never asks a server, reads a file of the workspace or a clock.
// Pictures are SVG written by the templates in page/; Go computes the
// geometry.
package report
