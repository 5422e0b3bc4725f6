// Package route knows who is in rotation, and changes it.
//
// It answers: "which side serves this client key right now, and may it start
// something new?" Table is the whole answer; Router is the small interface an
// adapter implements (File today; a proxy, a key-value store or a table in a
// database tomorrow), and package routetest holds the conformance suite that
// every adapter must pass.
//
// Invariants: slots are covered without gap or overlap; a route's side is
// always in rotation; a change replaces the table as a whole or not at all,
// and raises the generation by one; with Keep, what a change makes of a pair is
// noted before it is made.
//
// It never talks to a database server: waiting until it is safe to open a gate
// is the business of package swing. The format for clients is docs/reference/routing.md.
package route
