// Package verify answers: "is this certificate of a lower bound right?"
//
// Its door is Certificate. It takes a problem and a certificate in the words
// of package bound and proves the bound again from nothing but those two, with
// code of its own and in exact integers: sums are big integers, the heaviest
// content of a bin is searched depth first, and the cheapest numbers of bins
// that satisfy all cuts are searched as well.
//
// Invariants: a bound it returns holds, whoever wrote the certificate; hints in
// a certificate can make the proof quick or slow and never wrong. There are
// two ways to fail. ErrWrong: the certificate claims what is not so, or does
// not follow. ErrTooLarge: the proof takes more steps than allowed; nothing is
// said about the claim.
//
// It never computes a bound of its own, and it shares no code with package
// bound, whose mistakes it is there to find.
package verify
