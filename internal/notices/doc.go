// Package notices writes down whose work is in our binaries, and under which
// licence: the end of NOTICE, and THIRD-PARTY-LICENSES.txt.
//
// It answers: "what must be handed on with a binary of ours?" It asks go list
// which packages are linked, reads the licence texts beside them from the
// module cache, and knows a licence by its text. Its test holds both files
// against what go.mod says today, and refuses a licence that is unknown or not
// on the list of those that may be linked.
//
// It is no part of any binary. `make notices` writes the files.
package notices
