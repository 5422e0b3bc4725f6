// Package sheet is what a bench of storage engines leaves behind: one document
// that says what each way to run a server does with this machine's processors
// and storage, how sure that is, and everything that shaped it.
//
// Result is the document. A Cell is one way to run a server, a Load what its
// clients do, a Row one of both under one cache; a row has a Sample for each
// run. Judge makes the figures of rows from their samples and can be called
// again after each of them. Text is for people, Compare holds two documents
// against each other with the words of bench compare.
//
// It is pure: a result can be judged again years later, on another machine.
package sheet
