// Package spec says what a reshape carries from where to where: the latest child of each parent, and some of its columns, onto the parent's row.
//
// It answers: "is this a reshape that can be done on these tables?" Its main type is Spec, the file reshape/NAME.yaml; Tables are what one shard has. A parent is a file, say, a child a
// version of it; the latest is the child that counts and comes last. Workspace reads the file, mysql/latest the tables.
//
// Invariants: pure; a spec that Check finds nothing wrong with names one latest child for each parent, or none, whatever the rows are.
package spec
