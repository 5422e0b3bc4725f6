// Package check answers: "does this plan do what a plan must?" It judges plans
// in tests, before a plan is printed and before a move starts.
//
// Its one function is Plan. It shares no code with the solver and trusts
// nothing that the plan says about itself: it starts from the farm, adds up
// every need again, and replays the moves one by one.
//
// It never repairs a plan and never searches for a better one.
package check
