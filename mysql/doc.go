// Package mysql is the only door to database servers: every statement that
// Stowage sends is written here or in a package below, which goes Through it:
// mysql/traffic, what servers were asked; mysql/rows, what is in their tables;
// mysql/latest, what a reshape carries.
//
// It answers: "what does this server say it is, where does its replication
// stand, and make it so." Its main type is Server, one instance reached over
// the network.
//
// Invariants: a method that changes something can be run again after a crash
// and comes to the same state; what cannot be known after a lost connection
// is farm.ErrOutcomeUnknown and never guessed; passwords travel in the
// protocol or in CHANGE MASTER text, and no statement text with a password is
// ever logged or put into an error.
//
// The package never decides what should happen: order and safety of a live
// change are the business of packages swing and move. What differs between
// vendors is a table of words (dialect), a function for each where it is more
// than words (files *_mysql8.go), and outside of this package a question to
// Flavor.
package mysql
