package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stowage/bench/result"
	"stowage/bench/transcript"
	"stowage/farm"
	"stowage/internal/safefile"
)

// largestTranscript bounds what another program printed: fio's histograms of a thousand jobs have some 100 MB.
const largestTranscript = 256 << 20

func (a *app) benchImportCommand() *cobra.Command {
	var save string
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a result of what fio, DiskSpd or SQLIO printed",
		Long: `Reads what other programs that measure storage have printed: fio's JSON (fio 2 and 3; --output-format=json, or json+
with histograms), DiskSpd's XML (-Rxml), SQLIO's text, several runs in one file or each in a file of its own. What
comes of it is a result that bench show, compare, csv and decide and the report read; --save keeps it.

Steps are named as bench run names them where the load is one of its own (RND64K-R-Q8T2), and otherwise by what
the file calls them. Runs of one load are the runs of one step: from two on it has an interval. A figure that
the program did not print is not known. Figures that contradict each other are named, with file and line.

` + exitHelp,
		Example: "  stowage bench import fio-1.json fio-2.json fio-3.json --save old.json\n  stowage bench import sqlio.txt --save sqlio.json\n  stowage bench compare old.json new.json",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, given []string) error {
			var files []transcript.File
			for _, path := range given {
				text, err := safefile.ReadInput(path, largestTranscript)
				if err != nil {
					return &farm.Error{Op: "import", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err)), Hint: "name a file that fio, DiskSpd or SQLIO printed"}
				}
				files = append(files, transcript.File{Name: path, Text: text})
			}
			r, err := transcript.Read(files)
			if err != nil {
				return err
			}
			r.Environment.Stowage = stamp()
			if save != "" {
				whole := func(*result.Result) (bool, string) { return true, "remove it" }
				if _, err := keptBefore(save, "a bench", result.Read, whole); err != nil {
					return err
				}
				if err := keep(save, r); err != nil {
					return err
				}
			}
			next := a.again(nil, "--save", "imported.json")
			if save != "" {
				next = a.charted(save)
			}
			return a.emit(r, func(w io.Writer) error { return result.WriteText(w, r) }, next)
		},
	}
	cmd.Flags().StringVar(&save, "save", "", "keep the result in this file")
	return cmd
}
