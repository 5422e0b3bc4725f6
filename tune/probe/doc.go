// Package probe reads what package tune thinks about: one machine, or a tree
// that was recorded from one.
//
// It answers: "which disks, filesystems, controllers and servers are here, and
// how are they set?" Its main function is Read, which looks at a Tree: the
// root of this machine, or a directory with sys/, proc/, etc/, commands/ and
// instances/ as docs/measuring/tune.md draws it.
//
// Invariants: nothing is changed. Every source is optional: one that is
// missing, that fails or that says something unexpected becomes a line of
// tune.Facts.Unread, never an error and never a panic. A recorded tree is read
// without asking the machine it is on anything; its links lead inside of it.
// What a tool answers is read by what it means and not by where it stands:
// keys of RAID tools differ by vendor and year.
//
// The package runs no program itself: it is handed one that does (host.Ask).
package probe
