// Package capture answers: which statements went over this wire, how long did
// each take, and what went wrong?
//
// Read takes a packet capture (pcap, pcapng or the text of tcpdump -x, told
// apart by content), puts the TCP streams of every connection back together and
// follows the MySQL and MariaDB protocol in them. Its main type is Event: one
// command of a client with what the server answered.
//
// Invariants:
//
//   - A time in an Event comes from two packets that were really seen. Where
//     the request's last or the answer's first segment is not in the capture,
//     Answered is false; no loss makes a query look long.
//   - Both directions of a connection are read in the order of cause and
//     effect: a segment is looked at after everything that it acknowledges.
//     What never comes is given up, counted, and the connection is taken up
//     again where the next request begins.
//   - What cannot be read (encrypted, not MySQL, damaged, replication) is
//     counted in the Summary with the place of its first occurrence, what was
//     lost by connection too.
//   - Memory does not grow with the capture: connections, statements and
//     segments that wait are bounded, and what is given up is counted.
//   - No bytes, however wrong, end in a panic.
//
// Events come when their answer is complete, so not in the order of At. Several
// statements in one text are an event each, where the results can be distinguished,
// as in a slow log; EXECUTE in SQL is seen as it was sent, while a slow log has
// the statement behind it.
//
// The package opens no file, has no clock and no logger. It reads one
// io.Reader and calls one function. What it does not read: tunnels (GRE,
// VXLAN), MPLS, Unix sockets, named pipes, the X protocol, zstd compression.
package capture
