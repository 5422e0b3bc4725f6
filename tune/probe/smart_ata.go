package probe

import (
	"fmt"
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/tune"
)

// attribute is one line of an ATA drive's table of attributes. Vendors give them
// numbers and meanings of their own; the names are those of smartmontools' drive
// database, which says what a number means on which drive.
type attribute struct {
	id          int64
	name        string
	left        int64 // the normalized value; -1: it is not there
	threshold   int64
	raw         int64 // -1: it is not there
	whenFailed  string
	description string
}

var (
	// lifeAttribute are names whose normalized value is the percentage of life that is left.
	lifeAttribute = lazy.Regexp(`(?i)life.*(left|remain)|remain.*life|media_wearout|wear_?level|percent_lifetime`)
	// rawLife are those of them whose raw value says so, too: one drive keeps the normalized value at 100.
	rawLife        = lazy.Regexp(`(?i)remaining_lifetime_perc|percent_life_remaining`)
	spareAttribute = lazy.Regexp(`(?i)available_reserv|reserved_block_pct|available_spare`)
	reallocated    = lazy.Regexp(`(?i)^(realloc\w*_(sector|nand|blk|block)\w*|retired_block_count)$`)
	pending        = lazy.Regexp(`(?i)^(current_)?pending_`)
	uncorrectable  = lazy.Regexp(`(?i)^(offline_uncorrectable|reported_uncorrect|uncorrectable_(error|sector)_\w+)$`)
	spinning       = lazy.Regexp(`(?i)^(seek_error_rate|spin_retry_count|load_cycle_count)$`)
)

// noLife is SanDisk's attribute of that name: its normalized value is at 100.
const noLife = 230

func attributes(o object) (out []attribute) {
	for _, row := range o.at("ata_smart_attributes").rows("table") {
		a := attribute{name: row.text("name"), left: -1, raw: -1, whenFailed: row.text("when_failed")}
		a.id = row.number("id")
		if n, ok := row.maybe("value"); ok {
			a.left = n
		}
		a.threshold = row.number("thresh")
		if n, err := strconv.ParseInt(firstWord(row.at("raw").text("string")), 10, 64); err == nil {
			a.raw = n
		} else if n, ok := row.at("raw").maybe("value"); ok {
			a.raw = n
		}
		a.description = fmt.Sprintf("attribute %d %s", a.id, a.name)
		out = append(out, a)
	}
	return out
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// ataHealth reads what ATA drives tell: the table of attributes and the device
// statistics (ACS-3, log 04h), of which the standard fixes the meaning.
func ataHealth(h *tune.Health, o object) {
	all := attributes(o)
	spins := h.Rotation > 0
	for _, a := range all {
		if a.broken() {
			h.Missing = append(h.Missing, "what "+a.description+" says")
			continue
		}
		spins = spins || h.Rotation < 0 && spinning().MatchString(a.name)
		ataAttribute(h, a)
	}
	ataStatistics(h, o)
	if len(all) == 0 {
		h.Missing = append(h.Missing, "the table of attributes")
		return
	}
	if h.Reallocated < 0 {
		h.Missing = append(h.Missing, "how many sectors it has replaced")
	}
	if spins && h.Pending < 0 {
		h.Missing = append(h.Missing, "how many sectors it cannot read")
	}
	if !spins && h.Used < 0 {
		h.Missing = append(h.Missing, "how much of its endurance is used")
	}
}

// broken: the line lacks a figure, or has a name that nobody knows under a number
// that the rules are about.
func (a attribute) broken() bool {
	if a.id <= 0 || a.name == "" || a.left < 0 || a.raw < 0 {
		return true
	}
	switch a.id {
	case 5:
		return !reallocated().MatchString(a.name)
	case 187, 198:
		return !uncorrectable().MatchString(a.name)
	case 197:
		return !pending().MatchString(a.name)
	}
	return false
}

func ataAttribute(h *tune.Health, a attribute) {
	switch {
	case strings.EqualFold(a.whenFailed, "now"), a.threshold > 0 && a.left > 0 && a.left <= a.threshold:
		h.Failing = append(h.Failing, a.description)
	case strings.EqualFold(a.whenFailed, "past"):
		h.Failed = append(h.Failed, a.description)
	}
	switch {
	case lifeAttribute().MatchString(a.name) && a.id != noLife:
		left := a.left
		if rawLife().MatchString(a.name) && a.raw > 0 && a.raw <= 100 {
			left = min(left, a.raw)
		}
		if left >= 0 && left <= 100 {
			used(h, int(100-left), a.description)
		}
	case spareAttribute().MatchString(a.name) && a.threshold > 0 && a.left >= 0 && a.left <= 100:
		h.Spare, h.SpareThreshold = int(a.left), int(a.threshold)
	case reallocated().MatchString(a.name):
		h.Reallocated = max(h.Reallocated, a.raw)
	case pending().MatchString(a.name):
		h.Pending = max(h.Pending, a.raw)
	case uncorrectable().MatchString(a.name):
		h.Uncorrectable = max(h.Uncorrectable, a.raw)
	}
}

// used keeps the worst of several figures of one drive.
func used(h *tune.Health, percent int, from string) {
	if percent >= h.Used {
		h.Used, h.UsedFrom = percent, from
	}
}

func ataStatistics(h *tune.Health, o object) {
	_, there := o["ata_device_statistics"]
	pages := o.at("ata_device_statistics").rows("pages")
	if there && len(pages) == 0 {
		h.Missing = append(h.Missing, "the device statistics")
	}
	for _, page := range pages {
		number, numbered := page.maybe("number")
		rows := page.rows("table")
		if !numbered || len(rows) == 0 {
			h.Missing = append(h.Missing, "a page of the device statistics")
		}
		for _, row := range rows {
			ataStatistic(h, number, row)
		}
	}
}

// ataStatistic takes one figure by its page and place, which the standard fixes.
func ataStatistic(h *tune.Health, page int64, row object) {
	place, placed := row.maybe("offset")
	if _, told := row["flags"]; told {
		valid, known := row.at("flags").maybeTrue("valid")
		if known && !valid {
			return // the drive does not keep it
		}
		placed = placed && known
	}
	n, ok := row.maybe("value")
	if !placed || !ok || n < 0 {
		h.Missing = append(h.Missing, fmt.Sprintf("a figure of page %d of the device statistics", page))
		return
	}
	switch [2]int64{page, place} {
	case [2]int64{7, 8}:
		used(h, int(min(n, 255)), "device statistics: percentage used")
	case [2]int64{3, 32}:
		h.Reallocated = max(h.Reallocated, n)
	case [2]int64{4, 8}:
		h.Uncorrectable = max(h.Uncorrectable, n)
	}
}

// scsiHealth reads what SCSI and SAS drives tell: the list of grown defects, the
// error counters, and of flash the endurance used.
func scsiHealth(h *tune.Health, o object) {
	if n, ok := o.maybe("scsi_grown_defect_list"); ok {
		h.Reallocated = n
	} else {
		h.Missing = append(h.Missing, "the list of grown defects")
	}
	counters := o.at("scsi_error_counter_log")
	for _, kind := range []string{"read", "write", "verify"} {
		if n, ok := counters.at(kind).maybe("total_uncorrected_errors"); ok {
			h.Uncorrectable = max(h.Uncorrectable, 0) + n
		} else if _, there := counters[kind]; there || kind != "verify" {
			h.Missing = append(h.Missing, "its uncorrected errors of the kind "+kind)
		}
	}
	if n, ok := o.maybe("scsi_percentage_used_endurance_indicator"); ok {
		used(h, int(min(n, 255)), "")
	}
	if h.Rotation <= 0 && h.Used < 0 {
		h.Missing = append(h.Missing, "how much of its endurance is used")
	}
}
