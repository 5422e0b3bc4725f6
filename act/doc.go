// Package act carries out whatever Stowage does to a farm that runs: durably, steerably and in sight.
//
// It answers: "how does a list of steps become something that survives a kill, hears what people say, waits for their approval,
// shows itself and leaves a trail?" An act is a Kind: a name and its runbooks, lists of steps. Whoever adds one writes the steps;
// all that is in this package comes by itself, and so do the kill tests, which are generated from Runbook.Points.
//
// Act is the main type: Begin asks every question and writes the run down before anything is touched, Carry carries it out or on,
// Unfinished finds what is to be continued. Conductor carries out single steps for package engine and is what steps see of
// their run. Steering is what people have said of a run, folded from the orders in the store; Pause, Approve, Abort and the other
// verbs add orders. Board is a run as its events tell it.
//
// Invariants: nothing is begun while a run of the workspace is unfinished; ids are spent before they are used; a step that the
// store does not know is refused; a step that may hold clients is never kept waiting; what is behind its point of no return only
// goes forward.
//
// It knows no topology and writes to no server: packages move and those beside it do.
package act
