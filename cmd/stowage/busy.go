package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// busy is the line on standard error that says what a verb does while it prints nothing else. Only a terminal has it. nil shows nothing.
type busy struct {
	mu    sync.Mutex
	shown bool
}

// What a verb does is said from the second second on, and painted over from then on.
const (
	quiet   = 2 * time.Second
	repaint = 250 * time.Millisecond
)

// working says what the verb does, until the function that it returns is called. what is asked again each time and may count.
func (a *app) working(what func() string) (done func()) {
	f := a.passing()
	if f == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		began, tick := time.Now(), time.NewTicker(repaint)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if took := time.Since(began); took >= quiet {
					a.paint(f, fmt.Sprintf("%s, %v", what(), took.Round(time.Second)))
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-ended
		a.wipe()
	})
}

// passing is the terminal on which a line may be painted over; nil: there is none, and every line stays.
func (a *app) passing() *os.File {
	f, ok := a.stderr.(*os.File)
	if !ok || a.busy == nil || a.verbose || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// paint shows a line over the one before, as much as fits.
func (a *app) paint(f *os.File, text string) {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		text = onScreen(text, width-1)
	}
	a.busy.mu.Lock()
	defer a.busy.mu.Unlock()
	fmt.Fprint(f, "\r\x1b[2K"+text)
	a.busy.shown = true
}

// wipe takes the line away, for what is printed next.
func (a *app) wipe() {
	if a.busy == nil {
		return
	}
	a.busy.mu.Lock()
	defer a.busy.mu.Unlock()
	if a.busy.shown {
		fmt.Fprint(a.stderr, "\r\x1b[2K")
	}
	a.busy.shown = false
}

// doing is working with one text.
func (a *app) doing(format string, args ...any) (done func()) {
	text := fmt.Sprintf(format, args...)
	return a.working(func() string { return text })
}
