package main

import (
	"fmt"
	"strconv"
	"strings"

	"stowage/digest"
)

// cut leaves in the listing what is to be shown, and adds the quantiles that were asked for.
func (f digestFlags) cut(l *digest.Listing, isJSON bool) error {
	var percents []float64
	for _, text := range f.percentiles {
		v, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "p"), 64)
		if err != nil || !(v > 0) || v > 100 {
			return fmt.Errorf("--percentiles %q: write numbers above 0 and up to 100, such as 90,99.9", text)
		}
		percents = append(percents, v)
	}
	l.Percentiles(percents)
	if f.limit == "" {
		if f.topGiven && (f.csv || f.sql || isJSON) {
			l.Top(f.top)
		}
		return nil
	}
	share, most, err := parseLimit(f.limit)
	if err != nil {
		return err
	}
	if share > 0 {
		l.TopShare(share)
	}
	l.Top(most)
	return nil
}

// shown is how many classes a page shows in detail.
func (f digestFlags) shown() int {
	if f.limit != "" && !f.topGiven {
		return 0
	}
	return f.top
}

// parseLimit reads 95%, 20 and 95%:20. What is not said is 0.
func parseLimit(text string) (share float64, most int, err error) {
	wrong := fmt.Errorf("--limit %q: write a share of the query time, a number of classes, or both: 95%%, 20 or 95%%:20", text)
	for _, part := range strings.SplitN(text, ":", 2) {
		if percent, is := strings.CutSuffix(part, "%"); is {
			if share, err = strconv.ParseFloat(percent, 64); err != nil || !(share > 0) || share > 100 {
				return 0, 0, wrong
			}
			share /= 100
			continue
		}
		if most, err = strconv.Atoi(part); err != nil || most < 1 {
			return 0, 0, wrong
		}
	}
	return share, most, nil
}
