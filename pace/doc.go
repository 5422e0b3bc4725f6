// Package pace answers: how fast may this copy be just now?
//
// Its main type is Governor, which turns what is seen of the servers into a
// rate; whoever moves the bytes holds them to it.
//
// Invariants: a governor never goes below its floor, so that whatever is being
// copied arrives some day; it always has a reason for being slower than it may;
// and when the reason is gone it comes back. A rate of zero is a person's
// alone.
//
// The package is pure: it is told what time has brought, and knows no server
// and no farm.
package pace
