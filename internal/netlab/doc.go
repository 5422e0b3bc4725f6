// Package netlab makes machines out of network namespaces, for tests.
//
// It answers: "how does a test on one machine get many that have addresses of
// their own and share nothing but a network that can be cut and slowed?" Its
// main type is Lab, a bridge with a Machine on each of its ports; whoever makes
// it is on the bridge too, at Gateway.
//
// Invariants: everything a lab makes in the kernel begins with its mark, so that
// what a killed program left can be distinguished from all else (Clear); Remove ends
// whatever runs in its machines, and those processes only; nothing outside of
// the lab is routed, renamed or touched.
//
// Machines share the filesystem and the process table. It is for tests only,
// and needs root and ip(8).
package netlab
