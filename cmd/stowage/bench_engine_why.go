package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stowage/bench/engine"
	"stowage/bench/engine/flame"
	"stowage/bench/engine/sheet"
	"stowage/farm"
)

// benchEngineWhy says where the processor time of transactions goes, and what threads wait for. flames is the directory for the flame graphs; empty: none.
func (a *app) benchEngineWhy(ctx context.Context, dir, save, flames string, o engine.Order) error {
	if err := engine.IsWhyPossible(o); err != nil {
		return err
	}
	if _, err := os.Stat(save); save != "" && err == nil {
		return &farm.Error{Op: "save to", Subject: save, Err: fmt.Errorf("%w: it is there", farm.ErrRefused), Hint: "name another file, or remove it"}
	}
	var draw engine.Picture
	if flames != "" {
		if err := os.MkdirAll(flames, 0o755); err != nil {
			return &farm.Error{Op: "write flame graphs to", Subject: flames, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err)), Hint: "name a directory that may be written"}
		}
		draw = func(row string, g *flame.Graph, sub string) (string, error) {
			path := filepath.Join(flames, strings.NewReplacer("/", "-", " ", "-").Replace(row)+".svg")
			var b bytes.Buffer
			if err := g.WriteSVG(&b, row, sub); err != nil {
				return "", err
			}
			return path, write(path, b.Bytes())
		}
	}
	screen := benchScreen{app: a, began: time.Now()}
	o.Tell = screen.tellEngine
	w, err := engine.Why(ctx, dir, o, draw)
	screen.end()
	if err != nil {
		return err
	}
	if save != "" {
		if err := keep(save, w); err != nil {
			return err
		}
	}
	return a.emit(w, func(out io.Writer) error { return sheet.WriteWhy(out, w) }, a.cmd("tune %s", dir))
}
