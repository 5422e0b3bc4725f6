// Package lazy holds what only some commands need, made when it is asked for first: a program that reads a log should not
// wait for the words of servers that it never meets.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is regexp.MustCompile, done at its first call. It may be called by several goroutines.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
