package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory"
	"stowage/metrics"
	"stowage/session"
	"stowage/store"
)

// topClasses have a series of their own.
const topClasses = 20

func (a *app) metricsCommand() *cobra.Command {
	var file string
	var shards bool
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Tell Prometheus what is known of the farm: runways, sizes, conflicts, load, and how due does",
		Long: `Prints what the workspace knows in the text format of Prometheus: runways and sizes of hosts and pairs,
conflicts between sources, the heaviest statement classes, and when each task of 'stowage due' was last done.
It asks no server. --textfile writes the file whole or not at all, for the textfile collector of node_exporter,
which reads names that end in .prom. 'stowage serve' has the same under /metrics.

Alert rules and a dashboard for Grafana are in packaging/prometheus. docs/guide/due.md.

` + exitHelp,
		Example: "  stowage metrics\n  stowage due; stowage metrics --textfile /var/lib/prometheus/node-exporter/stowage.prom",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if a.json {
				return usage(c, errors.New("metrics have a format of their own: without --json"))
			}
			d, err := a.look()
			if err != nil {
				return err
			}
			defer d.Close()
			families, err := a.metricFamilies(d, shards)
			if err != nil {
				return err
			}
			if file == "" {
				return a.inOnePiece(func(w io.Writer) error { return metrics.Write(w, families) })
			}
			if filepath.Ext(file) != ".prom" {
				return &farm.Error{Op: "write", Subject: file, Err: fmt.Errorf("%w: node_exporter reads only names that end in .prom", farm.ErrInput), Hint: "name it " + strings.TrimSuffix(file, filepath.Ext(file)) + ".prom"}
			}
			var text bytes.Buffer
			if err := metrics.Write(&text, families); err != nil {
				return err
			}
			return write(file, text.Bytes())
		},
	}
	cmd.Flags().StringVar(&file, "textfile", "", "write into this `FILE` instead, whole or not at all")
	cmd.Flags().BoolVar(&shards, "shards", false, "tell of each shard, too: sizes, runways and load; several series for each")
	return cmd
}

// metricFamilies reads what is kept, and asks nobody.
func (a *app) metricFamilies(d *session.Session, shards bool) ([]metrics.Family, error) {
	facts := metrics.Facts{Version: version, Farm: d.Farm.Name, PerShard: shards, TopClasses: topClasses}
	was, err := d.Store.Duties()
	if err != nil {
		return nil, err
	}
	for _, task := range append(a.duties(d.Farm), a.reshapeDuties(d)...) {
		w := was[task.Name]
		facts.Tasks = append(facts.Tasks, metrics.Task{Name: task.Name, Every: max(0, task.Every), DoneAt: w.DoneAt, Took: w.Ended.Sub(w.Begun), Done: w.Done, Failed: w.Failed})
	}
	series, err := a.keptSeries(d)
	if err != nil {
		return nil, err
	}
	var wanted []capacity.Series
	for _, s := range series {
		if s.Kind == capacity.OfShard && !shards || len(s.Samples) == 0 {
			continue
		}
		newest := s.Samples[0]
		for _, x := range s.Samples {
			if !x.At.Before(newest.At) {
				newest = x
			}
		}
		wanted = append(wanted, s)
		if s.Resource != farm.Disk {
			continue // bytes of data, and nothing else
		}
		facts.Sizes = append(facts.Sizes, metrics.Size{Kind: string(s.Kind), Name: s.Name, Bytes: newest.Value})
	}
	facts.Rows = capacity.Assess(d.Farm, wanted)
	load, err := overTime(d.Store, was["load"].DoneAt)
	if err != nil {
		return nil, err
	}
	facts.Load = &load
	if facts.Sources, err = keptCheck(d); err != nil {
		return nil, err
	}
	var inv inventory.Inventory
	switch _, err := d.Store.LatestDocument("inventory", "", &inv); {
	case err == nil:
		facts.Findings = inv.Findings
	case !errors.Is(err, store.ErrNone):
		return nil, err
	}
	if facts.Backups, err = backupMetrics(d); err != nil {
		return nil, err
	}
	if facts.Reshapes, err = reshapeMetrics(d); err != nil {
		return nil, err
	}
	runs, err := d.Store.Runs("")
	for _, r := range runs {
		if r.State == store.Running {
			facts.Unended++
		}
	}
	return metrics.Families(facts), err
}

// backupMetrics are none where farm.yaml has no place for backups and none was made.
func backupMetrics(d *session.Session) ([]metrics.Backup, error) {
	all, err := keptBackups(d)
	if err != nil || !hasBackups(d, all) {
		return nil, err
	}
	status, err := backupStatusOf(d, all, time.Now())
	if err != nil {
		return nil, err
	}
	var out []metrics.Backup
	for _, p := range status.Pairs {
		out = append(out, metrics.Backup{Pair: string(p.Pair), Age: p.Age, ProvenAge: p.ProvenAge, Upto: p.Upto, Bytes: p.Bytes})
	}
	return out, nil
}

func keptCheck(d *session.Session) (*metrics.Sources, error) {
	var c checked
	_, err := d.Store.LatestDocument(checkedKind, d.Farm.Name, &c)
	if errors.Is(err, store.ErrNone) {
		return nil, nil
	}
	return &metrics.Sources{Names: c.Sources, Stale: c.Stale, Conflicts: c.Conflicts, Faults: c.Faults}, err
}

// metrics writes what Prometheus asks the dashboard for.
func (s *shelf) metrics(w io.Writer) error {
	d, err := s.desk()
	if err != nil {
		return err
	}
	defer d.Close()
	families, err := s.app.metricFamilies(d, false)
	if err != nil {
		return err
	}
	return metrics.Write(w, families)
}
