// Package snapshot answers: "what is the latest state of this tenant, at one position, and do both queries say so?"
//
// Take reads the rows of one tenant in one view of one server and writes them in a format (snapshot/format), by the query that
// the tenant's flag says in the same view. Compare asks both queries in one view and names the rows in which they differ.
// Chunked reads them in chunks, goes on after a kill, and corrects what was changed meanwhile. Choose says on which side of a
// pair that is done.
//
// Invariants: everything of a snapshot, the flag included, is of one view, whose position is told; neither end keeps rows; a
// side that is out, read-only in a rotation of writers, or behind is not read without being named by a person.
//
// It writes nothing to servers, and knows no farm file: it is handed a server.
package snapshot
