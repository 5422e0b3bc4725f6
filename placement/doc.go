// Package placement answers: "what goes where, with how few hosts, and how
// close is that to the best possible?"
//
// Its main type is Plan: where every side of every pair will live, which sides
// have to move for that and in what order, and a lower bound that says how
// many hosts no plan could do without. Solve makes one from a farm and goals.
//
// Invariants of every Plan that Solve returns: the sides of a pair are on
// different hosts (and on different values of every spread label); no host
// carries more than its capacity less headroom, with both sides of a pair
// counted at 100 % of the pair's load; what is frozen stays, and where it
// breaks a rule nothing else is put with it; a farm that was planned once is
// left alone unless something better is found; what moves in one stage needs
// no room that another move of the same stage leaves; a server_id that was ever
// used is not used again. (Spread labels hold at the end: while both sides of
// a pair move, they may share a rack for a while.)
//
// Bounds hold for the problem without labels, groups, pins and surfaces, and so
// for the one with them. Amounts are counted in ten thousand millionths of the
// largest host, and what fits exactly fits (lenience): package check forgives
// a millionth of a host.
//
// Solve is deterministic: the same farm and goals give the same plan, byte for
// byte. The package is pure: it never reads a clock, a file or a server, and
// it never moves anything. Package placement/check judges its plans and shares
// no code with it.
package placement
