// Package effect says what a statement does, by its text.
//
// It answers: "is this a read, and nothing else?" Judge makes a Judgement of a
// text. What is not known to be a read is none.
//
// It is pure, and asks no server: a view may call a function that does something.
// Whoever sends what it calls a read also has the server refuse writes, by a
// READ ONLY session.
package effect
