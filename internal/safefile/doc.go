// Package safefile opens files and directories where somebody else may have
// prepared something.
//
// It answers two questions. "Whom do I obey when I read this path?": Trusted
// looks at the owner and the mode of a path and of every directory above it, as
// ssh does before it reads a key. And "what do I touch when I write there?": a
// Dir is opened once, component by component, and everything below it is done
// through its descriptor. A symbolic link of another user's is not followed, a
// FIFO is not waited for, a file with a second name is not written to, and
// owner and mode are set on what was opened, never by path.
package safefile
