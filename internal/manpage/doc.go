// Package manpage writes manual pages in the man macros of troff.
//
// It answers: "how does text that was written for a terminal become a page that
// man shows without a warning, and from which commands can be copied?" A Page is
// a list of sections; Page.Bytes is its text. Lines that are in columns or are
// indented stay as they are, other lines become paragraphs.
//
// It knows no command line and reads no clock: date and version are handed in,
// so that the same program makes the same pages.
package manpage
