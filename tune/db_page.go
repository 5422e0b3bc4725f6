package tune

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
)

var dbPageSize = Rule{
	ID: "DB-PAGE", Title: "page sizes", Reads: "innodb_page_size of each instance; Innodb_data_written, Innodb_data_read",
	Source: "MariaDB, innodb_page_size: fixed when an instance is made; Percona 2016: 4k against 16k gives 1.6 times the transactions on one SSD; measured: a sixth of the bytes when the set just exceeds the pool",
	Except: "compressed tables, wide rows",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		sizes := map[string][]string{}
		var out []Finding
		for _, i := range f.Instances {
			value, where, ok := i.setting("innodb_page_size")
			if !ok {
				continue
			}
			n, ok := amount(value)
			if !ok {
				continue
			}
			sizes[bytes(n)] = append(sizes[bytes(n)], i.Name)
			below := f.under(i.Datadir)
			if n != 16<<10 || len(below) == 0 || !i.writesMost() {
				continue
			}
			if is, known, _ := f.flash(below[0]); is && known {
				out = append(out, Finding{Severity: farm.Note, Subject: i.Name, Read: where + "; it has written more than it has read",
					Verdict: "pages of 4 or 8 KiB may write much less here: measure",
					Why:     "a changed row writes its whole page, twice; on flash a small page costs no more than its bytes",
					Fix:     "an instance made with innodb_page_size=4k or 8k, filled by rows and not by files", Persist: "fixed when it is made", Revert: "the same way back"})
			}
		}
		if len(sizes) == 0 {
			return notApplicable("no instance says what its page size is")
		}
		if len(sizes) > 1 {
			out = append(out, mixedPages(sizes))
		}
		return found(out...)
	},
}

func mixedPages(sizes map[string][]string) Finding {
	var said []string
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		said = append(said, fmt.Sprintf("%s: %s", size, strings.Join(sizes[size], ", ")))
	}
	return Finding{Severity: farm.Warning, Subject: "page sizes", Read: strings.Join(said, "; "),
		Verdict: "these instances cannot be merged by their files: tablespaces carry their page size", Why: "an instance has one page size, and DISCARD and IMPORT TABLESPACE refuse others",
		Fix: "merge them by rows (stowage move shard)", Persist: "-", Revert: "-"}
}

func (i Instance) writesMost() bool {
	w, err := strconv.ParseFloat(i.Status["innodb_data_written"], 64)
	r, err2 := strconv.ParseFloat(i.Status["innodb_data_read"], 64)
	return err == nil && err2 == nil && w > r
}
