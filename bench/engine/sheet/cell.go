package sheet

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

// Engine is a storage engine by the name that servers have for it.
type Engine string

const (
	InnoDB  Engine = "InnoDB"
	MyRocks Engine = "ROCKSDB"
	Aria    Engine = "Aria"
	MyISAM  Engine = "MyISAM"
)

// Durability is what a commit that was acknowledged survives. Figures of different classes are not to be compared.
type Durability string

const (
	// Durable: 1/1, log and binary log are synced before a commit is acknowledged. It survives the loss of power.
	Durable Durability = "durable 1/1"
	// Relaxed: 2/0, both are handed to the operating system. It survives a kill -9, and not the loss of power: a second or more is lost.
	Relaxed Durability = "relaxed 2/0"
	// None: nothing is promised, not even that a table can be read after a crash.
	None Durability = "none"
)

// Cell is one way to run a server. Its ID says all of it: innodb-4k-nodw-relaxed.
type Cell struct {
	ID          string     `json:"id"`
	Engine      Engine     `json:"engine"`
	PageSize    int64      `json:"page_size_bytes,omitempty"` // of InnoDB
	Doublewrite bool       `json:"doublewrite"`               // of InnoDB; false of what has none
	FlushMethod string     `json:"flush_method,omitempty"`    // of InnoDB, as innodb_flush_method has it
	Durability  Durability `json:"durability"`
	// Unsafe says why its figures cannot be had in production at that price; empty where they can.
	Unsafe string `json:"unsafe,omitempty"`
	// Missing says why it was not measured; empty where it was.
	Missing string `json:"missing,omitempty"`
	// Skipped are loads that could not be run on it, with the reason.
	Skipped []string `json:"skipped,omitempty"`
}

// flushMethods are the words in an ID for innodb_flush_method. O_DIRECT_NO_FSYNC is left out: what it leaves unsynced depends on the file system.
var flushMethods = map[string]string{"direct": "O_DIRECT", "fsync": "fsync", "dsync": "O_DSYNC"}

// ParseCell reads an ID. The words behind the engine may be in any order, and what is the default may be left out.
func ParseCell(id string) (Cell, error) {
	bad := func(why string) (Cell, error) {
		return Cell{}, &farm.Error{Op: "read cell", Subject: id, Err: fmt.Errorf("%w: %s", farm.ErrInput, why),
			Hint: "write innodb, myrocks, aria or myisam; of innodb also -4k, -8k, -16k, -nodw, -fsync, -dsync; of all -relaxed: innodb-16k-nodw"}
	}
	words := strings.Split(strings.ToLower(id), "-")
	c := Cell{Durability: Durable}
	switch words[0] {
	case "innodb":
		c.Engine, c.PageSize, c.Doublewrite, c.FlushMethod = InnoDB, 16<<10, true, flushMethods["direct"]
	case "myrocks":
		c.Engine = MyRocks
	case "aria":
		c.Engine = Aria
	case "myisam":
		c.Engine, c.Durability = MyISAM, None
	default:
		return bad(fmt.Sprintf("no engine %q", words[0]))
	}
	seen := map[string]bool{}
	for _, w := range words[1:] {
		method, isMethod := flushMethods[w]
		kind := w
		switch {
		case c.Engine == InnoDB && slices.Contains([]string{"4k", "8k", "16k"}, w):
			kind, c.PageSize = "pages", map[string]int64{"4k": 4 << 10, "8k": 8 << 10, "16k": 16 << 10}[w]
		case c.Engine == InnoDB && w == "nodw":
			c.Doublewrite = false
		case c.Engine == InnoDB && isMethod:
			kind, c.FlushMethod = "method", method
		case (c.Engine == InnoDB || c.Engine == MyRocks) && w == "relaxed":
			c.Durability = Relaxed
		default:
			return bad(fmt.Sprintf("%s knows no %q", words[0], w))
		}
		if seen[kind] {
			return bad(fmt.Sprintf("two words for one thing, %q the second", w))
		}
		seen[kind] = true
	}
	c.ID, c.Unsafe = c.name(), c.unsafe()
	return c, nil
}

// name is the ID with its words in their order.
func (c Cell) name() string {
	if c.Engine != InnoDB {
		id := map[Engine]string{MyRocks: "myrocks", Aria: "aria", MyISAM: "myisam"}[c.Engine]
		if c.Durability == Relaxed {
			id += "-relaxed"
		}
		return id
	}
	id := fmt.Sprintf("innodb-%dk", c.PageSize>>10)
	if !c.Doublewrite {
		id += "-nodw"
	}
	for word, method := range flushMethods {
		if word != "direct" && method == c.FlushMethod {
			id += "-" + word
		}
	}
	if c.Durability == Relaxed {
		id += "-relaxed"
	}
	return id
}

func (c Cell) unsafe() string {
	switch {
	case c.Engine == MyISAM:
		return "no durability at all: no log, no transactions, tables that must be repaired after a crash, writers that wait for each other"
	case c.Engine == Aria:
		return "tables survive a crash, transactions do not exist: each statement stands alone, and ROLLBACK takes nothing back"
	case c.Engine == InnoDB && !c.Doublewrite:
		return "without doublewrite a page that was half written when the power went is lost with the table; only for storage that is proven to write pages whole"
	}
	return ""
}

// Transactional says whether several statements can be one transaction.
func (c Cell) Transactional() bool { return c.Engine == InnoDB || c.Engine == MyRocks }

// Runs says whether a load can be run on the cell, and why not.
func (c Cell) Runs(l Load) (bool, string) {
	if l.Transactions && !c.Transactional() {
		return false, "its transactions need an engine that has them"
	}
	return true, ""
}

// QuickCells and FullCells are what the profiles measure. The first is the base that all others are compared with.
var (
	QuickCells = []string{"innodb-16k", "innodb-4k", "innodb-16k-nodw", "myrocks", "aria"}
	FullCells  = []string{"innodb-16k", "innodb-8k", "innodb-4k", "innodb-16k-nodw", "innodb-4k-nodw", "innodb-16k-fsync", "innodb-16k-relaxed", "myrocks", "myrocks-relaxed", "aria"}
)

// ParseCells reads IDs. The same cell twice is one. MyISAM is refused unless it was said that its price is known.
func ParseCells(ids []string, noDurabilityOK bool) ([]Cell, error) {
	var out []Cell
	for _, id := range ids {
		c, err := ParseCell(id)
		if err != nil {
			return nil, err
		}
		if c.Durability == None && !noDurabilityOK {
			return nil, &farm.Error{Op: "measure", Subject: c.ID, Err: fmt.Errorf("%w: %s", farm.ErrRefused, c.Unsafe),
				Hint: "its figures look good because nothing is kept safe; to see them all the same: --no-durability-ok"}
		}
		if !slices.ContainsFunc(out, func(x Cell) bool { return x.ID == c.ID }) {
			out = append(out, c)
		}
	}
	return out, nil
}
