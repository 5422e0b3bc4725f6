// Package record collects a window of real traffic on live instances, in the
// gentlest way there is, digests it where it lies, and keeps only the digest.
//
// It answers: "what are these servers being asked right now?" Its main type is
// Recorder: Recorder.SlowLog lets a server log every statement for a while,
// into files of the recording's own; Recorder.Network reads the packets of an
// instance from the kernel and asks nothing of the server. On another machine a
// Station does that for us, behind an agent: Recorder.Through asks it.
//
// Invariants: before a setting of a server is changed, the values of before
// are on disk (Journal), so that they can be put back after a kill -9; only
// what still has the value we gave it is put back, because a person may have
// changed it since; nothing is written to a binary log or kept over a restart
// of the server; a file system is never filled: the log is looked at five
// times a second, and a recording stops while there is room; what was recorded
// until a window ended early is kept. An order to a Station is carried out once,
// and what came of it is kept there until it is kept here.
//
// The package never decides which instances to record, keeps no digest, and
// never touches a log that it did not begin.
//
// Where to look: slowlog.go is a window from its first step to its last,
// settings.go switches and puts back, journal.go remembers, watch.go says when
// to stop, pieces.go digests files while the next is being written;
// network.go, socket.go, packetfilter.go and pcap.go do the same from
// the network. order.go has the words between two machines, station.go, kept.go
// and cut.go are the end that records, far.go and ordered.go the end that asks.
package record
