// Package sources reads what the sources of inventory.yaml say of a farm.
//
// It answers: "what does this file, this server or this program claim, and in
// which line?" Collect reads all sources into a claims.Set. Each format has a
// file with its reader.
//
// Invariants: it reads only. A source that cannot be read is stale: its last
// claims are kept below .stowage and are in for it. A line that cannot be
// read is a fault with file:line, and the lines around it are read all the
// same; a source with such a line is never said to lack something. Templates,
// secrets and computed values are claimed as unknown; no password is read into
// a claim, and no file of others is ever run.
package sources
