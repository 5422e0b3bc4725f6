// Program app is an application of this example. It reads a tenant's latest files by the query that the tenant's flag asks for,
// and writes as clients do; `stowage reshape` may switch the flag at any moment.
//
//	app --dir WORKSPACE --shard fs_0001 --user app --password-file FILE read TENANT
//	app ... write [SECONDS]
//	app ... check
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/route"
)

func main() {
	var a app
	dir := flag.String("dir", ".", "the workspace, which has routing.json")
	passwords := flag.String("password-file", "", "a file with the account's password")
	flag.StringVar(&a.shard, "shard", "fs_0001", "the shard")
	flag.StringVar(&a.user, "user", "app", "the application's account")
	flag.StringVar(&a.normalised, "normalised", "correlated", "the query for tenants that are not active: grouped, correlated or sorted")
	flag.BoolVar(&a.keeps, "keeps", false, "write the carried columns, too (keep: application)")
	flag.IntVar(&a.clients, "clients", 4, "clients that write at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	password, err := os.ReadFile(*passwords)
	if err == nil {
		a.password = strings.TrimSpace(string(password))
		a.routing, err = route.Follow(*dir + "/routing.json")
	}
	if err == nil {
		err = a.run(ctx, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type app struct {
	shard, user, password, normalised string
	keeps                             bool
	clients                           int
	routing                           *route.Follower
}

func (a *app) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "read":
		tenant, err := strconv.ParseUint(args[1], 10, 32)
		if err != nil {
			return fmt.Errorf("tenant is %q; it is a number", args[1])
		}
		return a.read(ctx, uint32(tenant))
	case (len(args) == 1 || len(args) == 2) && args[0] == "write":
		seconds := 10.0
		if len(args) == 2 {
			var err error
			if seconds, err = strconv.ParseFloat(args[1], 64); err != nil {
				return fmt.Errorf("seconds are %q; they are a number", args[1])
			}
		}
		return a.write(ctx, time.Duration(seconds*float64(time.Second)))
	case len(args) == 1 && args[0] == "check":
		return a.check(ctx)
	}
	return errors.New("say read TENANT, write [SECONDS] or check")
}

// where is the side that serves a tenant: the tenant's id is its routing key. While the shard goes from one pair to another, no
// pair has it: the application waits.
func (a *app) where(ctx context.Context, tenant uint32) (string, error) {
	for {
		pairs := a.routing.Table().Serves(farm.ShardName(a.shard))
		if len(pairs) == 1 {
			_, address, err := a.routing.AwaitOpen(ctx, pairs[0], strconv.FormatUint(uint64(tenant), 10))
			return address, err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("routing.json has shard %s on %d pairs, want one: %w", a.shard, len(pairs), ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (a *app) dsn(address string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s?interpolateParams=true", a.user, a.password, address, a.shard)
}

// open is a pool at the side that serves a tenant.
func (a *app) open(ctx context.Context, tenant uint32) (*sql.DB, error) {
	address, err := a.where(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return sql.Open("mysql", a.dsn(address))
}

// read prints the tenant's latest files, and on stderr by which query they came.
func (a *app) read(ctx context.Context, tenant uint32) error {
	db, err := a.open(ctx, tenant)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	out := bufio.NewWriter(os.Stdout)
	rows, began := 0, time.Now()
	form, err := files.Read(ctx, db, a.shard, tenant, a.normalised, func(l files.Latest) error {
		rows++
		_, err := fmt.Fprintf(out, "%s/%s\t%d\t%d\t%x\n", l.Path, l.Name, l.File, l.Size, l.Hash)
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "tenant %d: %d files in %.3f s, query %s\n", tenant, rows, time.Since(began).Seconds(), form)
	return nil
}

// write lets clients write, and then looks whether all that they were acknowledged is there, on every side.
func (a *app) write(ctx context.Context, d time.Duration) error {
	db, err := a.open(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	w, err := files.NewWriters(ctx, db, files.Clients{Shard: a.shard, Seed: uint64(time.Now().UnixNano()), Count: a.clients,
		DSN: a.dsn, Where: a.where, Keeps: a.keeps, Pause: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	limit, stop := context.WithTimeout(ctx, d)
	defer stop()
	if err := w.Run(limit); err != nil {
		return err
	}
	for kind, n := range w.Counts() {
		fmt.Printf("%-16s %d\n", kind, n)
	}
	// The other side may still be applying: a look that finds something is tried again.
	var faults []string
	for range 50 {
		if faults, err = w.Compare(ctx, db); err != nil || len(faults) == 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, f := range faults[:min(len(faults), 20)] {
		fmt.Println(f)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d acknowledged writes differ from what clients saw", len(faults))
	}
	return err
}

// check prints what active tenants carry and should not.
func (a *app) check(ctx context.Context) error {
	db, err := a.open(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	c, err := files.Look(ctx, db, a.shard)
	if err != nil {
		return err
	}
	for _, m := range c.Mismatches[:min(len(c.Mismatches), 20)] {
		fmt.Println(m)
	}
	fmt.Printf("%d active tenants, %d files, %d versions: %d values differ\n", c.Tenants, c.Files, c.Versions, len(c.Mismatches))
	if len(c.Mismatches) > 0 {
		return errors.New("carried columns differ from the versions")
	}
	return nil
}
