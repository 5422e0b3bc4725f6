// Package farm holds the nouns that every other package shares: hosts,
// pairs, sides, instances and logical shards.
//
// It answers: "what words do we use, and what must always hold between the
// things they name?" Its main type is Farm, the farm as agreed in farm.yaml.
//
// Invariants (held by Farm.Check): names are unique; every side stands on a
// known host; the two sides of a pair never share a host; no two instances
// listen on one address and port or own one datadir.
//
// The package imports the standard library only and does no I/O. It never
// reads a file, a clock or a server: package workspace reads farm.yaml into
// these types, package inventory fills in what servers say.
package farm
