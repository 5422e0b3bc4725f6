package alter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"stowage/alter/plan"
	"stowage/farm"
	"stowage/mysql"
	"stowage/schema"
	"stowage/store"
)

// OnCopy is what one table of a copy took.
type OnCopy struct {
	Shard   farm.ShardName `json:"shard"`
	Table   string         `json:"table"`
	Form    int            `json:"-"`
	Bytes   int64          `json:"bytes"`
	Seconds float64        `json:"seconds"`
}

// copiedDocument has what a form took on a copy, under its fingerprint.
const copiedDocument = "alter on a copy"

// fingerprint is the same for the same change of the same definition.
func fingerprint(f plan.Form) string {
	sum := sha256.Sum256([]byte(f.Change.Text + "\x00" + f.Before))
	return hex.EncodeToString(sum[:12])
}

// TimeOnCopy makes the changes of a plan on a copy of some shards, and says how long each took. may is asked before each: whether the server is still one that may be written to.
// What the copy does not have, or has otherwise, is left out. What each form took is kept for later plans.
func TimeOnCopy(ctx context.Context, s *mysql.Server, p plan.Plan, in *store.Store, may func(context.Context) error, tell func(string)) ([]OnCopy, error) {
	var shards []string
	for _, pair := range p.Pairs {
		for _, t := range pair.Tables {
			shards = append(shards, string(t.Shard))
		}
	}
	tables, err := s.CreatedTables(ctx, shards)
	if err != nil {
		return nil, err
	}
	sizes, err := s.TableSizes(ctx, shards)
	if err != nil {
		return nil, err
	}
	var out []OnCopy
	for _, pair := range p.Pairs {
		for _, t := range pair.Tables {
			f := p.Forms[t.Form]
			is, err := schema.Read(tables[string(t.Shard)][f.Change.Table])
			if err != nil || is.Text != f.Before {
				continue
			}
			if err := may(ctx); err != nil {
				return out, err
			}
			began := time.Now()
			for _, statement := range f.Statements() {
				err = s.Alter(ctx, mysql.Altering{Database: string(t.Shard), Statement: statement, LockWait: time.Minute, Mark: "alter on a copy", Tell: func(text string) {
					tell(fmt.Sprintf("%s.%s: %s", t.Shard, f.Change.Table, text))
				}})
				if err != nil {
					break
				}
			}
			if err != nil {
				return out, &farm.Error{Op: "alter", Subject: fmt.Sprintf("%s.%s on the copy", t.Shard, f.Change.Table), Err: err, Hint: "the farm was not touched; on the shard itself it would have failed, too"}
			}
			out = append(out, OnCopy{t.Shard, f.Change.Table, t.Form, sizes[string(t.Shard)][f.Change.Table].Bytes, time.Since(began).Seconds()})
		}
	}
	if len(out) == 0 {
		return nil, &farm.Error{Op: "alter", Subject: string(s.Name()), Err: fmt.Errorf("%w: the copy has none of the tables as the farm defines them", farm.ErrInput), Hint: "restore a backup of one of the shards there"}
	}
	return out, keepLongest(in, p, out)
}

// keepLongest keeps what the longest table of each form took.
func keepLongest(in *store.Store, p plan.Plan, took []OnCopy) error {
	longest := map[int]float64{}
	for _, t := range took {
		longest[t.Form] = max(longest[t.Form], t.Seconds)
	}
	for n, seconds := range longest {
		if err := in.PutDocument(copiedDocument, fingerprint(p.Forms[n]), time.Now(), seconds); err != nil {
			return err
		}
	}
	return nil
}

// Remembered gives the forms of a plan what they took on a copy.
func Remembered(p *plan.Plan, in *store.Store) error {
	for n := range p.Forms {
		var seconds float64
		_, err := in.LatestDocument(copiedDocument, fingerprint(p.Forms[n]), &seconds)
		switch {
		case err == nil:
			p.Forms[n].SecondsOnCopy = &seconds
		case !errors.Is(err, store.ErrNone):
			return err
		}
	}
	return nil
}
