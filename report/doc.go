// Package report answers: what was the whole change, on paper?
package report
