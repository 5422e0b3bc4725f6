// Package reshape carries columns of the latest child of each parent onto the parent's row, tenant by tenant, while clients write, and flips each tenant's flags when its rows are right.
//
// It answers: "how does the application come to read the latest version of a file without a join, and who has found that it reads the same?" Its main type is Act, which carries out runs of
// kind "reshape": columns, what keeps them current, indexes, then the rows of some tenants, which are compared before a flag says anything. A run is one wave of tenants; the next run takes
// the next. Outside of runs Act sets flags, and looks whether what is active is still right; with keep: applier, Act.Apply writes the columns behind the clients, one goroutine for each shard.
//
// Invariants: a tenant's row is written where its clients are served, and nowhere else; what is written is what the children say under their locks; a flag is set in the transaction that has
// compared all rows of its tenant; a lease is renewed only when all that was committed before the moment it vouches for is applied; a tenant whose rows are not right is read from its children, from the moment that this is known.
package reshape
