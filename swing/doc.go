// Package swing is the shared machine of every live change: it takes one side
// of a pair out of rotation, lets a verb act on it, and brings it back.
//
// It answers: "how does a side leave and return without one failed query and
// without one lost write?" Its main type is Swing, one side of one pair being
// swung; a Stepdown is a primary whose writes a replica takes for a while, a Follower
// a replica, an Alone a single instance; a Group is several of these that leave
// together because they live on one host.
// Steps composes a verb's own work with the dance around either:
//
//	out       clients go to the twin          (ready, close, drain, fence, barrier, flip)
//	act       the verb's own work
//	catch-up  both sides have everything the other has
//	check     replication, identity and variables as they must be
//	warm      the buffer pool is filled, and reads take no longer than on the twin
//	in        clients come back, 1 % -> 10 % -> 100 %
//
// Invariants: a gate is closed only while the next server is within a few
// transactions of ready; a route is flipped only after the server it leads to
// has applied everything the clients behind the gate were ever acknowledged;
// when a step fails, the gate is open again and the side that serves takes
// writes before the error is returned. Every step reads the truth first and
// may be run again after a kill at any point.
//
// A side that returns in place is held to its Baseline, read before it left, and
// to what the act says may differ.
//
// The package decides nothing about which sides are swung, or how many at
// once, and keeps no state of its own.
package swing
