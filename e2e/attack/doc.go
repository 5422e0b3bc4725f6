// Package attack answers: what does somebody become who is on a machine of Stowage's, and is nobody there?
//
// Its tests play the attacker against the built programs: uid 65534, with no certificate and no key. They find sockets in /proc, so
// that one which nobody thought of is attacked too.
//
// The same attacks on the code as it was before it answered only certificates and sent no password without TLS (commit 35e681b, built
// anew on 2026-11-23):
//
//	attack                                                   then
//	nobody speaks to the engine's three ports                each answered, history and matching too
//	sha256_password under the server's own RSA key           got the password, by all four doors: statements, rows, replay, binary log
//	a change to sha256_password, its own key                 the same
//	caching_sha2_password, all of it, its own key            the same
//	a change to caching_sha2_password, its own key           the same
//	a change to mysql_clear_password                         got the password by the binary log's door
//	a greeting that is cut                                   a panic (slice bounds out of range)
//	dialog, ed25519, parsec, the oldest protocols, a file
//	or a key in the login, one change after the other        got nothing
//	LOAD DATA LOCAL of any name                              got nothing, by all doors
//	TLS taken away, another authority's or name's            cannot be tried: there was no TLS to ask for
//	a FIFO for a file (12 of fifoVerbs)                      all hung beyond SIGTERM
//
// Not tried again on that code: what e2e/long/attack does with a host's certificate.
package attack
