// Package rows reads, carries, compares and corrects the rows of tables, with the definitions that a copy of them is made by.
//
// It answers: "which rows does this table have, and does that server have the same?" CopyTable is a table as all of this package
// sees it. A View is a session that reads rows as bytes, of now or of one position (Snapshot); a Stream carries them, in chunks
// with marks (Marks) that say how far a copy is; a Comparison finds what differs, and Repair corrects it. Plain shows rows as
// values that mean the same outside of the server, Dump writes whole databases as SQL.
//
// Invariants: a key is SQL literals, and compares after a kill as it did before; a row is the same only if every byte of it is; a
// mark is written in the transaction of the rows it speaks of, and only by the one copier that has taken the job over;
// what Repair writes is in no binary log.
//
// It never decides what is copied or when, nor where clients go: that is the business of packages copier, compare and snapshot.
package rows
