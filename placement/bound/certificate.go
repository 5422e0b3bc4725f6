package bound

// Certificate is a proof of a bound that can be checked without knowing how
// it was found; package verify does so. It holds cuts, each a claim about
// what one bin can hold; the bound is the least that bins can cost which
// together satisfy all cuts.
type Certificate struct {
	Kind      string    `json:"kind"` // what decided: the kind of the only cut, "mix" of several, "domains", "oversized", "crowded", "nothing"
	Objective Objective `json:"objective"`
	Claim     string    `json:"claim"` // in words
	Cuts      []Cut     `json:"cuts,omitempty"`
	// Blend is a hint for the checker of several cuts: factors, one for each
	// cut, with which their sum alone comes close to the bound.
	Blend []float64 `json:"blend,omitempty"`
	// Items names the item of an "oversized" or "crowded" certificate.
	Items []int `json:"items,omitempty"`
	// Domains are the parts of a "domains" certificate: what each fault domain
	// is forced to hold is a problem of its own, and their bounds add up.
	Domains    []DomainPart `json:"domains,omitempty"`
	Bound      int64        `json:"bound"`
	Infeasible bool         `json:"infeasible,omitempty"` // no packing exists at all; Bound means nothing
}

// DomainPart is the certificate of the problem that one fault domain poses.
type DomainPart struct {
	Domain      string      `json:"domain"`
	Certificate Certificate `json:"certificate"`
}

// Cut gives each item a weight, and claims that no feasible content of a bin
// of type t weighs more than Most[t]. So the bins of any packing satisfy
// sum(Most of each bin) >= sum(weight of each copy of each item).
type Cut struct {
	Kind CutKind `json:"kind"`
	Most []int64 `json:"most"` // one for each type of bin

	// Sum and Shape: an item's size is the sum of its needs, each times a
	// factor; the last factor is for the item itself, and makes it a count.
	Factors []int64 `json:"factors,omitempty"`
	// Shape: the dual feasible function of sizes that gives the weights.
	Function  Function `json:"function,omitempty"`
	Parameter int64    `json:"parameter,omitempty"`
	// Clique and Copies: the items that weigh 1.
	Items []int `json:"items,omitempty"`
	// Content: the weights themselves, one for each item.
	Weights []int64 `json:"weights,omitempty"`
	// Content: a hint for the checker. For each type of bin, what a full bin
	// weighs in each dimension (the last is the number of items) in a weighted
	// sum that is close to the weights.
	Hints [][]int64 `json:"hints,omitempty"`
}

// CutKind says how the claim of a cut is proved.
type CutKind string

const (
	Sum     CutKind = "sum"     // weights are sums of needs: the same sums of room limit them
	Shape   CutKind = "dff"     // weights are a dual feasible function of one size
	Clique  CutKind = "clique"  // no two of the items go together
	Copies  CutKind = "copies"  // so many copies of one item fit into a bin
	Content CutKind = "content" // the heaviest content weighs that much: searched exhaustively
)

// Function is a dual feasible function: if sizes add up to at most the room
// C, their images add up to at most the image of C.
type Function string

const (
	// Threshold p (Martello and Toth, Fekete and Schepers): sizes below p
	// count nothing, sizes above C-p count C, the rest as it is.
	Threshold Function = "threshold"
	// Stairs k (Fekete and Schepers u^(k)): k*x where (k+1)*x is a multiple
	// of C, else C*floor((k+1)*x/C).
	Stairs Function = "stairs"
	// Halves p (Carlier, Clautiaux, Moukrim): 2*floor(x/p) below C/2,
	// floor(C/p) at C/2, 2*(floor(C/p)-floor((C-x)/p)) above.
	Halves Function = "halves"
)
