// Package fix carries out changes of settings, and takes them back.
//
// It answers: "write these settings, and put back what was there, whatever
// happens in between." Its main type is Journal, a file that knows every
// setting we changed with its value of before.
//
// Invariants: the journal has every change of a run, and is synced, before the
// first setting is touched; so what a kill -9 leaves behind can be taken back.
// A setting is read again right before it is written and right after. One that
// is not as it was when the rules looked, or not as we left it, is somebody
// else's: it is left alone, and that is said. One journal is used by one
// process at a time.
//
// It knows no rules and no server: what reads and writes a setting is handed
// to it.
package fix
