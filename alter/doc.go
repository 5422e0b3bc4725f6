// Package alter changes tables on both sides of a live pair, one side after the other, so that no client meets two schemas and no row differs afterwards.
//
// It answers: "how does this ALTER get onto every shard while clients write?" Its main type is Act, which carries out runs of kind "alter": plan.Plan says which tables, and by which way
// each pair comes to them. Where only definitions change, both sides change while they serve. Where the server has to work, each side leaves in turn. Where rows of the two
// shapes differ, one side is changed while the other serves, then all clients go there behind one gate, and the other side applies nothing until its tables are changed, too.
//
// Invariants: two schemas are never in rotation together, but where rows do not show it; rows travel from the old shape to the new only; an ALTER of a side that serves nobody is not in its
// binary log; before an ALTER the table is what the plan says, or the change has been made already: what somebody else did to it is refused; every row of the changed shards is compared
// before the second side returns.
package alter
