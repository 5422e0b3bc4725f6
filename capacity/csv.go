package capacity

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// Find says what a name of a series file means in a farm: a host, a pair or a shard. Names may say it themselves: host:db001.
func Find(f *farm.Farm, name string) (Kind, string, error) {
	if kind, rest, ok := strings.Cut(name, ":"); ok && slices.Contains([]Kind{OfHost, OfPair, OfShard}, Kind(kind)) {
		if k := kinds(f, rest); !slices.Contains(k, Kind(kind)) {
			return "", "", fmt.Errorf("farm.yaml has no %s %q", kind, rest)
		}
		return Kind(kind), rest, nil
	}
	switch k := kinds(f, name); len(k) {
	case 0:
		return "", "", fmt.Errorf("farm.yaml has no host, pair or shard %q", name)
	case 1:
		return k[0], name, nil
	default:
		return "", "", fmt.Errorf("%q is the name of a %s and of a %s: write %s:%s", name, k[0], k[1], k[0], name)
	}
}

func kinds(f *farm.Farm, name string) []Kind {
	var out []Kind
	if _, ok := f.Host(farm.HostName(name)); ok {
		out = append(out, OfHost)
	}
	if _, ok := f.Pair(farm.PairName(name)); ok {
		out = append(out, OfPair)
	}
	if slices.ContainsFunc(f.Pairs, func(p farm.Pair) bool {
		return slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return string(s.Name) == name })
	}) {
		out = append(out, OfShard)
	}
	return out
}

// ReadCSV reads series from text with a header. Columns, in any order: time (2026-11-23, RFC 3339 or seconds since 1970), name (a host,
// pair or shard), resource, value, and limit where the farm does not say it. Values are plain numbers in base units or have a unit:
// 48GB. file is named in errors, with the line; all wrong lines are reported, up to ten. Errors wrap farm.ErrInput.
func ReadCSV(file string, in io.Reader, f *farm.Farm) ([]Series, error) {
	r := csv.NewReader(in)
	r.TrimLeadingSpace, r.ReuseRecord, r.FieldsPerRecord = true, true, 0
	head, err := r.Read()
	if err != nil {
		return nil, wrong(file, 1, "no header: the columns are time, name, resource, value, and limit if you like")
	}
	at, err := columns(file, head)
	if err != nil {
		return nil, err
	}
	var bad []error
	byKey := map[string]*Series{}
	var order []string
	for len(bad) < 10 {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := r.FieldPos(0)
		if err != nil {
			var p *csv.ParseError
			if !errors.As(err, &p) {
				return nil, err
			}
			bad = append(bad, wrong(file, p.Line, "%v", p.Err))
			continue
		}
		s, sample, err := record(rec, at, f)
		if err != nil {
			bad = append(bad, wrong(file, line, "%v", err))
			continue
		}
		key := string(s.Kind) + "\x00" + s.Name + "\x00" + string(s.Resource)
		if byKey[key] == nil {
			s.Source = file
			byKey[key], order = &s, append(order, key)
		}
		byKey[key].Samples = append(byKey[key].Samples, sample)
		if s.Limit != nil {
			byKey[key].Limit = s.Limit
		}
	}
	if bad != nil {
		return nil, errors.Join(bad...)
	}
	var all []Series
	for _, k := range order {
		all = append(all, *byKey[k])
	}
	return all, nil
}

var wanted = []string{"time", "name", "resource", "value", "limit"}

func columns(file string, head []string) (map[string]int, error) {
	at := map[string]int{}
	for i, h := range head {
		h = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		if !slices.Contains(wanted, h) {
			return nil, wrong(file, 1, "no column is called %q: they are %s", h, strings.Join(wanted, ", "))
		}
		at[h] = i
	}
	for _, w := range wanted[:4] {
		if _, ok := at[w]; !ok {
			return nil, wrong(file, 1, "the column %s is missing", w)
		}
	}
	return at, nil
}

func record(rec []string, at map[string]int, f *farm.Farm) (Series, Sample, error) {
	when, err := moment(rec[at["time"]])
	if err != nil {
		return Series{}, Sample{}, err
	}
	s := Series{Resource: farm.ResourceName(rec[at["resource"]])}
	if s.Kind, s.Name, err = Find(f, rec[at["name"]]); err != nil {
		return s, Sample{}, err
	}
	value, err := amount(s.Resource, rec[at["value"]])
	if err != nil {
		return s, Sample{}, err
	}
	if i, ok := at["limit"]; ok && rec[i] != "" {
		v, err := amount(s.Resource, rec[i])
		if err != nil {
			return s, Sample{}, err
		}
		s.Limit = &v
	}
	return s, Sample{when, value}, nil
}

func moment(text string) (time.Time, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 1e8 && n < 1e11 {
		return time.Unix(int64(n), 0).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time such as 2026-11-23 or 2026-11-23T18:00:00Z", text)
}

func amount(r farm.ResourceName, text string) (float64, error) {
	if r == "" {
		return 0, errors.New("the resource is empty")
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return 0, fmt.Errorf("%s cannot be %s", r, text)
		}
		return v, nil
	}
	return farm.ParseQuantity(string(r), text, r.Kind())
}

func wrong(file string, line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w: %s", file, line, farm.ErrInput, fmt.Sprintf(format, args...))
}
