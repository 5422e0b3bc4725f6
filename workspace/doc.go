// Package workspace answers: "what did the team write down, and where does the
// program keep its own things?" It reads and writes the directory that a team
// keeps in git: farm.yaml, goals.yaml and plans/*.json, and the .stowage folder
// beside them.
//
// Its main type is Workspace, made by Open.
//
// Invariants: files are read strictly, so that a misspelt key is an error with
// file:line and never a silent default; all faults of a file are reported at
// once; a file is replaced as a whole or not at all, and only by one that reads
// back; an edit changes the bytes it has to change and no others, so that
// comments, order and layout stay as their owners wrote them.
//
// It never talks to a server or a host, and never reads the clock except to
// say since when a lock is held.
package workspace
