// Package dump is the form of a logical backup: one stream of SQL texts.
//
// It answers: "what is in this stream, in which order, and is it all of it?"
// The stream is a tar archive, so that tar, zstd and a client of the server are
// all that a person needs to restore one database, or one table, of it. Writer
// makes it, Read takes it apart.
//
// Invariants: the first file says at which position the rows stand, the last
// one how many files and rows there are, and a stream without it is not whole.
// Files of one stage can be loaded in any order, and side by side; those of a
// stage need all of the stages before.
//
// The package sends no statement and knows no server.
package dump
