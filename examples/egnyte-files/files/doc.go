// Package files is the cloud file system of this example: its rows, its clients, and a judge.
//
// It answers: "which rows does such a system have, what do its applications do to them, and is the latest version that a file's
// row carries really the latest?" Generate makes the rows, Writers are clients that write and remember what they were
// acknowledged, Read is the application's snapshot of a tenant, Check recomputes what is carried.
//
// It uses nothing of Stowage: the judge must not share the mistakes of what it judges. Statements, order of versions and the
// choice between the two queries are written here a second time, on purpose.
package files
