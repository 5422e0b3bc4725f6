// Command gomysql reads a slow log with the Go library that several tools of this field are built on: its parser,
// its fingerprints and its aggregation. It is what `stowage digest` is measured beside in `make bench`.
package main

import (
	"fmt"
	"os"

	"github.com/percona/go-mysql/event"
	"github.com/percona/go-mysql/log"
	"github.com/percona/go-mysql/log/slow"
	"github.com/percona/go-mysql/query"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := slow.NewSlowLogParser(f, log.Options{})
	failed := make(chan error, 1)
	go func() { failed <- p.Start() }()
	sums := event.NewAggregator(true, 0, 0)
	for e := range p.EventChan() {
		fingerprint := query.Fingerprint(e.Query)
		sums.AddEvent(e, query.Id(fingerprint), e.User, e.Host, e.Db, e.Server, fingerprint)
	}
	if err := <-failed; err != nil {
		return err
	}
	out := sums.Finalize()
	var events uint
	for _, c := range out.Class {
		events += c.TotalQueries
	}
	fmt.Printf("%d events, %d classes\n", events, len(out.Class))
	return nil
}
