// Package demo makes a real farm to try Stowage on: private MariaDB instances
// on loopback addresses, each address a host, in active-active pairs with real
// tables, replication and accounts; and takes it away again.
//
// It answers: "show me, on my laptop, in three minutes, on servers that are
// real." Its main functions are Up and Down; package demo/load is the traffic.
//
// Invariants: everything lives below one directory, which carries a mark;
// nothing outside of it is read or changed; only instances started from that
// directory are stopped; durability is as shipped to production (sync_binlog=1,
// innodb_flush_log_at_trx_commit=1).
//
// It knows nothing of moving: what happens to the farm afterwards is done by
// the same verbs that a production farm is worked with.
package demo
