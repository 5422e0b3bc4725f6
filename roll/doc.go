// Package roll takes sides out of rotation so that somebody can work on their
// servers, and brings them back.
//
// It answers: "how is a server of a live pair patched, restarted or looked at
// without a failed query?" Its main type is Act, which carries out runs of kind
// "side": one side of one pair leaves, is held out for as long as a person needs,
// and returns caught up, checked and warm. How it leaves follows from its role: an
// active-active side, a primary, a replica. Roller carries out
// runs of kind "roll": every side of a host leaves, something is done to the host,
// and they return; then the next host, as an agenda.Plan says.
//
// Invariants: never both sides of a pair are out; a side is held to the Baseline
// that was read before it left, and what a person announces may differ from it;
// once the return has begun, a failure leaves the side out and says why, because
// a server that is not what it was must not get clients. Before that, undo sends
// the clients back.
//
// A command of a roll runs exactly once on a host, see package command; a host
// that failed from its work on stays out, and no other begins.
//
// For a side the package changes nothing on a host but the fence in the option
// file, and takes that away byte for byte: whoever took the side out starts and
// stops its server. For a roll it restarts servers, writes options and has packages
// installed as the plan says, and starts those that do not run when the work is done.
// Packages come by orders as well; on the host, package packages carries them out.
// A replica that takes
// the writes of its primary has a block in its option file for that time.
package roll
