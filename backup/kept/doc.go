// Package kept keeps in the store what is known of backups, and takes them out
// of it when they are gone.
//
// It answers: "which backups are there, and what was found out about each?" The
// truth is in the vaults: a manifest there says the same of its backup, except
// what was found out later. A record is never changed; a newer one stands
// beside it.
package kept
