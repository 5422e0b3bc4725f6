// Package tune compares a machine's settings with advice, and says which
// advice is still true there.
//
// It answers: "is anything on this machine set so that it loses data or costs
// speed, who says so, and how is it put right?" Its main types are Facts, what
// is known about one machine, Rule, one piece of advice, and Finding, what a
// rule has to say. Rules is the table of contents; each rule is a file of its
// own, named after what it is about.
//
// Invariants: the same facts give the same findings. A rule that cannot know
// says that it does not apply, and why; it never passes for want of facts. A
// finding says what was read and where, so that a person can look there. Every
// fix says how it lasts over a restart and how it is taken back.
//
// The package is pure: package tune/probe reads machines, and trees recorded
// from them; package tune/fix carries out Changes. It recommends nothing that
// could be measured and was not: where advice depends on the device, the rule
// names the step of the storage benchmark that decides it.
package tune
