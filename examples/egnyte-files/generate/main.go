// Program generate makes the rows of this example in a database of a running server.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/signal"

	_ "github.com/go-sql-driver/mysql" // registers the driver "mysql"

	"stowage/examples/egnyte-files/files"
)

func main() {
	dsn := flag.String("dsn", "", "the server, without a database: user:password@tcp(127.0.0.1:3306)/")
	shard := flag.String("shard", "fs_0001", "the database to make")
	var p files.Plan
	flag.Uint64Var(&p.Seed, "seed", 1, "equal seeds make equal rows")
	flag.Int64Var(&p.Versions, "versions", 300_000, "versions of all tenants together, about")
	flag.Int64Var(&p.Smallest, "smallest", 1000, "versions of the smallest tenants")
	flag.Int64Var(&p.Largest, "largest", 0, "versions of the largest tenant (default: half of all)")
	flag.BoolVar(&p.Unlogged, "unlogged", false, "keep the rows out of the binary log; never on a side of a pair")
	flag.Parse()
	if *dsn == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	p.Say = func(line string) { fmt.Fprintln(os.Stderr, line) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, *dsn, *shard, p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, dsn, shard string, p files.Plan) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tenants, err := files.Generate(ctx, db, shard, p)
	for _, t := range tenants {
		fmt.Printf("%d\t%d files\n", t.ID, t.Files)
	}
	return err
}
