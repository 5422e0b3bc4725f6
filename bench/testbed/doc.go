// Package testbed makes what a cell of a matrix is measured on, and takes it away
// again: "give me an ext4 mounted so on two devices, and leave nothing behind".
//
// Site is a directory with a journal; Site.Make makes a Stand in it: files, loop
// devices, queue settings, an array, a file system, a mount. Stand.Close undoes
// a testbed, Site.Close the rest, Clean what a killed process left.
//
// What holds: an act is in the journal, and the journal synced, before the act;
// so what a kill -9 leaves can be taken back, by the next Open or by Clean.
// Taking back is safe to do twice, and looks first whether the thing is ours: a
// loop device by the inode of its file, a file system by a UUID of our making, a
// mount by its place and its device, an array by its members, a file by its
// name in our directory. What is not is left alone, and said. One process has a
// site at a time.
//
// An act that the kernel or a tool does not do is a Refusal: a result, and no
// fault of the machine. It formats devices; that they may be is decided by
// whoever hands it their names (bench/disk).
package testbed
