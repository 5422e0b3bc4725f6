package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/serve"
)

// serveAddress is where the dashboard listens unless another is given.
const serveAddress = "127.0.0.1:8306"

func (a *app) serveCommand() *cobra.Command {
	var listen, scraper string
	cmd := &cobra.Command{
		Use:        "serve",
		Short:      "Show this workspace in a browser, live, and as JSON",
		SuggestFor: []string{"dashboard", "web", "ui"},
		Long: `Serves pages about one workspace: an overview, the newest move while it runs, results of
benches with their charts, plans, traffic before and after, and the report. Each page has
its facts as JSON, and the command that prints the same. Nothing is loaded from elsewhere.

It only reads: it changes no file of the workspace and talks to no server of the farm.
What is to be done about what is seen is shown as a command.

The printed link lets one browser in, once; another start prints another. Without --listen
only this machine can reach it; from elsewhere come through a tunnel (ssh -L). Ctrl-C ends it.

` + exitHelp,
		Example: "  stowage serve\n  stowage serve -C farm --listen 127.0.0.1:0",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), listen, scraper) },
	}
	cmd.Flags().StringVar(&listen, "listen", serveAddress, "HOST:PORT to listen on; port 0 is any that is free")
	cmd.Flags().StringVar(&scraper, "metrics-token", "", "a `FILE` with a word; who sends it as a bearer token may read /metrics, as Prometheus does")
	return cmd
}

// served is what serve prints.
type served struct {
	FormatVersion int    `json:"format_version"`
	Workspace     string `json:"workspace"`
	Listen        string `json:"listen"`
	Link          string `json:"link"` // works once
}

func (s served) text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s, read-only, at %s\n  open, once: %s\n  Ctrl-C ends it\n", s.Workspace, s.Listen, s.Link)
	return err
}

// serve shows the workspace until ctx ends, which is how it is meant to end.
func (a *app) serve(ctx context.Context, listen, scraper string) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	d.Close()
	word, err := readWord(scraper)
	if err != nil {
		return err
	}
	l, err := a.listen(listen)
	if err != nil {
		return err
	}
	address := l.Addr().String()
	server := serve.New(serve.Options{Sources: a.serveSources(d.Workspace), Listen: renamed(listen, l.Addr()), Dir: d.Dir, Log: a.log, Scraper: word})
	if host, port, _ := net.SplitHostPort(address); net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port) // from elsewhere it is this machine's address
	}
	said := served{FormatVersion: 1, Workspace: d.Dir, Listen: l.Addr().String(), Link: server.Link(address)}
	if err := a.emit(said, said.text); err != nil {
		return errors.Join(err, l.Close())
	}
	return server.Run(ctx, l)
}

// leastWord is how long a token must be: a hundred bits of base64 or more.
const leastWord = 20

// readWord reads the token of Prometheus.
func readWord(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	fail := func(err error) (string, error) {
		return "", &farm.Error{Op: "read token", Subject: file, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "make one: (umask 077; openssl rand -hex 20 > " + shellWord(file) + "), and name the file in Prometheus: authorization: {credentials_file: ...}"}
	}
	info, err := os.Stat(file)
	if err != nil {
		return fail(err)
	}
	text, err := safefile.ReadFile(file, 4096)
	word := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return fail(err)
	case info.Mode().Perm()&0o007 != 0:
		return fail(fmt.Errorf("its mode is %#o: everybody on this machine may read it", info.Mode().Perm()))
	case len(word) < leastWord:
		return fail(fmt.Errorf("it has %d characters, and a token has %d at least", len(word), leastWord))
	}
	return word, nil
}

// renamed is the address that was asked for, with the port that it became.
func renamed(listen string, got net.Addr) string {
	host, _, err := net.SplitHostPort(listen)
	_, port, _ := net.SplitHostPort(got.String())
	if err != nil {
		return got.String()
	}
	return net.JoinHostPort(host, port)
}

// listen takes the address, and warns where others can reach it.
func (a *app) listen(listen string) (net.Listener, error) {
	refuse := func(err error, hint string) (net.Listener, error) {
		return nil, &farm.Error{Op: "listen on", Subject: listen, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	private, err := serve.Loopback(listen)
	if err != nil {
		return refuse(err, "give an address and a port, such as "+serveAddress)
	}
	l, err := net.Listen("tcp", listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return refuse(errors.New("another process listens there, perhaps another stowage serve"), "take any free port: --listen 127.0.0.1:0")
	case errors.Is(err, syscall.EACCES):
		return refuse(errors.New("this port is for root only"), "take one above 1023, or any free one: --listen 127.0.0.1:0")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return refuse(errors.New("this machine does not have that address"), "give one that it has, or leave --listen out")
	case err != nil:
		var cause *net.OpError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return refuse(err, "give an address and a port, such as "+serveAddress)
	}
	if !private {
		port := l.Addr().String()[strings.LastIndex(l.Addr().String(), ":")+1:]
		a.say("warning: %s can be reached from other machines, and this is plain HTTP: who sees the traffic sees the link and the pages\n  -> listen on 127.0.0.1 and come through a tunnel: ssh -L %s:127.0.0.1:%s HOST", listen, port, port)
	}
	return l, nil
}
