package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
)

// imported is what `stowage digest import` prints.
type imported struct {
	FormatVersion int    `json:"format_version"`
	Save          string `json:"save"`
	Windows       int    `json:"windows"`
	Unknown       int    `json:"windows_left_out"`
	Events        uint64 `json:"events"`
	Reviewed      int    `json:"reviewed"`
}

func (i imported) writeText(w io.Writer) error {
	if i.Windows > 0 {
		fmt.Fprintf(w, "%s of history with %s kept as %s\n", farm.Counted(i.Windows-i.Unknown, "row"), farm.Counted(i.Events, "event"), i.Save)
	}
	if i.Unknown > 0 {
		fmt.Fprintf(w, "%s left out: neither a sample nor a class in the review table\n", farm.Counted(i.Unknown, "row"))
	}
	_, err := fmt.Fprintf(w, "%s with a reviewer's comment; stowage digest history --class shows it\n", farm.Counted(i.Reviewed, "class"))
	return err
}

func (a *app) importCommand() *cobra.Command {
	var review, history, save string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Take over the review and history tables of pt-query-digest",
		Long: `Reads what mysql prints of the tables that pt-query-digest --review and --history fill,
and keeps it in the workspace: rows for ` + "`digest history`" + `, comments of reviewers for
--class. stowage digest --sql writes the other way.

  mysql -B -e 'SELECT * FROM percona_schema.query_review' > review.tsv
  mysql -B -e 'SELECT * FROM percona_schema.query_history' > history.tsv

` + exitHelp,
		Example: "  stowage digest import --review review.tsv --history history.tsv --save nightly",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if review == "" && history == "" {
				return usage(c, errors.New("--review or --history is missing: there is nothing to read"))
			}
			if history != "" && save == "" {
				return usage(c, errors.New("--save is missing: the name to keep the windows under"))
			}
			return a.importReview(review, history, save)
		},
	}
	cmd.Flags().StringVar(&review, "review", "", "the review table, as mysql -B prints it")
	cmd.Flags().StringVar(&history, "history", "", "the history table, as mysql -B prints it")
	cmd.Flags().StringVar(&save, "save", "", "the `NAME` of the windows in the workspace")
	return cmd
}

func (a *app) importReview(review, history, save string) error {
	var tables [2]io.Reader
	for i, path := range []string{review, history} {
		if path == "" {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			return &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
		}
		defer file.Close()
		tables[i] = file
	}
	r, err := digest.ReadReview(tables[0], tables[1])
	if err != nil {
		return &farm.Error{Op: "import", Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if len(r.Reviewed) > 0 {
		if err := d.Store.PutDocument(reviewedKind, "", time.Now(), r.Reviewed); err != nil {
			return err
		}
	}
	if r.Windows > 0 {
		if err := a.saveDigest(save, r.Digest); err != nil {
			return err
		}
	}
	out := imported{FormatVersion: 1, Save: save, Windows: r.Windows, Unknown: r.Unknown, Events: r.Digest.Events(), Reviewed: len(r.Reviewed)}
	if out.Windows > 0 {
		return a.emit(out, out.writeText, a.cmd("digest history %s", save))
	}
	return a.emit(out, out.writeText, a.cmd("digest history"))
}

// reviewedKind is the kind of the documents with what people wrote about classes.
const reviewedKind = "reviewed"
