package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stowage/bench/result"
	"stowage/farm"
	"stowage/report"
	"stowage/serve"
)

// allBenches are the results in bench/ of the workspace, the newest first, and behind them the decisions there and beside farm.yaml.
func (s *shelf) allBenches() ([]serve.Bench, error) {
	out := []serve.Bench{}
	for _, pattern := range []string{"bench/*.json", "bench/*.yaml", "decision*.yaml"} {
		names, err := fs.Glob(os.DirFS(s.ws.Dir), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			path := s.ws.Path(name)
			b, err := s.entry(path)
			if err != nil {
				b.Fault = blame(err)
			}
			if b.File = name; b.Kind != "" {
				out = append(out, b)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y serve.Bench) int {
		if x.IsJudged != y.IsJudged {
			return map[bool]int{true: 1, false: -1}[x.IsJudged]
		}
		return y.Made.Compare(x.Made)
	})
	return out, nil
}

// entry is one line of the list, read again when its file has changed, or each time where it names other files.
func (s *shelf) entry(path string) (serve.Bench, error) {
	read := func() (serve.Bench, error) { return entryOf(path) }
	if filepath.Ext(path) == ".yaml" {
		return read()
	}
	return s.benches.of(read, path)
}

// bench shows files of the list: one of any kind, or several results of bench run, the oldest first.
func (s *shelf) bench(files []string) (serve.Shown, error) {
	all, err := s.allBenches()
	if err != nil {
		return serve.Shown{}, err
	}
	var chosen []serve.Bench
	for _, b := range slices.Backward(all) {
		if slices.Contains(files, b.File) {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) == 1 {
		return s.oneBench(chosen[0])
	}
	var paths, words []string
	for _, b := range chosen {
		if b.Kind != kindRun {
			return serve.Shown{}, &farm.Error{Op: "compare results", Subject: b.File, Err: fmt.Errorf("%w: it is of bench %s; this page compares results of bench run only", farm.ErrInput, b.Kind), Hint: "open it alone"}
		}
		paths, words = append(paths, s.ws.Path(b.File)), append(words, shellWord(s.ws.Path(b.File)))
	}
	benches, err := readBenches(paths)
	if err != nil {
		return serve.Shown{}, err
	}
	var held []*result.Comparison
	for i, b := range benches[1:] {
		held = append(held, result.Compare(paths[0], benches[0].Result, paths[i+1], b.Result))
	}
	shown := serve.Shown{Command: "stowage bench show " + strings.Join(words, " "), JSON: comparedView{1, held}}
	if len(held) == 1 {
		shown.JSON, shown.Command = held[0], "stowage bench compare "+strings.Join(words, " ")
	}
	shown.Piece, err = report.NewBenchDocument(benches).Piece()
	return shown, err
}

// comparedView are several results, each against the oldest of them, as JSON.
type comparedView struct {
	FormatVersion int                  `json:"format_version"`
	Comparisons   []*result.Comparison `json:"comparisons"`
}

// oneBench shows one file of the list.
func (s *shelf) oneBench(b serve.Bench) (serve.Shown, error) {
	path := s.ws.Path(b.File)
	f, err := readBenchFile(path)
	if err != nil {
		return serve.Shown{}, err
	}
	return f.show(serve.Shown{Command: "stowage bench show " + shellWord(path), Kicker: b.File})
}
