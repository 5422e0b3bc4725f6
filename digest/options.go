package digest

import (
	"fmt"
	"time"
)

// RuleSet names the rules that turn a statement into a fingerprint.
type RuleSet string

const (
	// RulesPtqd gives fingerprints and IDs byte-equal to pt-query-digest 3.2.1.
	RulesPtqd RuleSet = "ptqd"
	// RulesLexer reads SQL as the server does and folds shard numbers in database and table names by a stated rule.
	RulesLexer RuleSet = "lexer"
)

// GroupBy names what events are put together by.
type GroupBy string

const (
	ByFingerprint GroupBy = "fingerprint"
	ByTable       GroupBy = "table" // an event counts once for every table it touches
	ByUser        GroupBy = "user"
	ByHost        GroupBy = "host"
	ByDB          GroupBy = "db"
	ByShard       GroupBy = "shard" // database with its number, or the table's where no database is known
)

// Options say how events become classes. The zero value is what the command line does by default.
type Options struct {
	Rules   RuleSet   // default RulesPtqd
	GroupBy GroupBy   // default ByFingerprint
	Since   time.Time // events before it are left out; zero: no bound
	Until   time.Time // events at or after it are left out; zero: no bound
	Filter  *Filter   // events it does not match are left out; nil: none

	Workers int // how many goroutines read one slow log; default 1. The result does not depend on it

	MaxClasses   int // more classes than this are folded into one; default 100,000
	MaxExample   int // bytes of statement text kept as the example of a class; default 2,048
	MaxStatement int // longer statements are classed by their beginning; default 8 MiB
}

const (
	defaultClasses   = 100_000
	defaultExample   = 2 << 10
	defaultStatement = 8 << 20

	// maxFingerprint is how much of a fingerprint is kept as text, as in the reference's JSON. IDs cover all of it.
	maxFingerprint = 5000
)

// Check says what is wrong with the options.
func (o Options) Check() error {
	switch o.Rules {
	case "", RulesPtqd, RulesLexer:
	default:
		return fmt.Errorf("check digest options: no rule set %q (there are ptqd and lexer)", o.Rules)
	}
	switch o.GroupBy {
	case "", ByFingerprint, ByTable, ByUser, ByHost, ByDB, ByShard:
	default:
		return fmt.Errorf("check digest options: cannot group by %q (fingerprint, table, user, host, db, shard)", o.GroupBy)
	}
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until) {
		return fmt.Errorf("check digest options: since %s is not before until %s", o.Since.Format(time.RFC3339), o.Until.Format(time.RFC3339))
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Rules == "" {
		o.Rules = RulesPtqd
	}
	if o.GroupBy == "" {
		o.GroupBy = ByFingerprint
	}
	if o.MaxClasses <= 0 {
		o.MaxClasses = defaultClasses
	}
	if o.MaxExample <= 0 {
		o.MaxExample = defaultExample
	}
	if o.MaxStatement <= 0 {
		o.MaxStatement = defaultStatement
	}
	return o
}

// ReasonOutside is the Remark on text that belongs to no event. A file of which nothing else can be said is no log.
const ReasonOutside = "text outside of any event"
