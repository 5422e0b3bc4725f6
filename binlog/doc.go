// Package binlog reads files of the binary log of MariaDB and MySQL servers.
//
// It answers: "which transactions are in this file, where does each begin, and
// when was it written?" Its main types are Head, how a file begins, and Scanner,
// which goes from transaction to transaction in memory that does not grow.
//
// Invariants: a transaction is told only when its last byte is there and every
// checksum in it was right; the first place that is damaged or cut ends a scan,
// with a Fault that says where the last whole transaction ends. No input makes
// it panic, or makes it ask for more memory than the input has bytes.
//
// It reads what MariaDB 10.5 to 11.8 and MySQL from 8.0 on write; tests run MySQL 9.7. Since MariaDB 11.4
// positions inside of events are 0 (MDEV-31404), so it counts bytes by itself. Of MySQL it
// reads how long a transaction is from its first event, and refuses transactions without
// a GTID. Files of older servers and encrypted ones are refused by name. Pure: it is handed bytes.
package binlog
