// Package fresh brings up servers that nobody knows yet: copies of others.
//
// It answers: "with which options does this copy start, does it run, and is it
// really the one that answers?" Options makes its option file after another's,
// Start starts it, Check says who answers.
//
// Invariants: until Settled it takes no writes, runs no events and does not
// replicate by itself; a server is only believed when its id and its data
// directory are the ones that were given to it.
package fresh
