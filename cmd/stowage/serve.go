package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/serve"
)

// serveAddress is where the dashboard listens unless another is given.
const serveAddress = "127.0.0.1:8306"

// openAPI describes what is answered under /api. TestOpenAPI writes it, with -update, from the types of the answers, and compares it with answers.
//
//go:embed openapi.json
var openAPI []byte

// serveAsk is how serve was asked for. Files that are not named are "".
type serveAsk struct {
	listen                   string
	tokens, scraper          string // files
	certificateFile, keyFile string
}

func (a *app) serveCommand() *cobra.Command {
	var ask serveAsk
	cmd := &cobra.Command{
		Use:        "serve",
		Short:      "Show this workspace in a browser, live, and as JSON",
		SuggestFor: []string{"dashboard", "web", "ui"},
		Long: `Serves pages about one workspace: an overview, each run while it goes on, results of
benches with their charts, plans, traffic before and after, and the report. Each page has
its facts as JSON, and the command that prints the same. Nothing is loaded from elsewhere.

It only reads: it changes no file of the workspace and talks to no server of the farm.
What is to be done about what is seen is shown as a command.

The printed link lets one browser in, once; another start prints another. A file of tokens
lets in a team: a line for each of them, NAME TOKEN. Lines that are added or removed count at
once. Browsers sign in at /enter, scripts send Authorization: Bearer TOKEN to /api.

Without --listen only this machine can reach it; from elsewhere come through a tunnel (ssh -L).
Any other address needs a certificate, which is read again when its files change.
Ctrl-C ends it. -v says who looks at which page.

` + exitHelp,
		Example: `  stowage serve
  stowage serve -C farm --listen 127.0.0.1:0
  stowage serve --listen 0.0.0.0:8306 --tls-cert fullchain.pem --tls-key privkey.pem --tokens viewers`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if (ask.certificateFile == "") != (ask.keyFile == "") {
				return usage(c, errors.New("--tls-cert and --tls-key go together"))
			}
			return a.serve(c.Context(), ask)
		},
	}
	cmd.Flags().StringVar(&ask.listen, "listen", serveAddress, "HOST:PORT to listen on; port 0 takes any free port")
	cmd.Flags().StringVar(&ask.certificateFile, "tls-cert", "", "a PEM `FILE` with a certificate and its chain")
	cmd.Flags().StringVar(&ask.keyFile, "tls-key", "", "a PEM `FILE` with its key")
	cmd.Flags().StringVar(&ask.tokens, "tokens", "", "a `FILE` of viewers: a name and a token in each line")
	cmd.Flags().StringVar(&ask.scraper, "metrics-token", "", "a `FILE` with a word; who sends it as a bearer token may read /metrics, as Prometheus does")
	return cmd
}

// served is what serve prints.
type served struct {
	FormatVersion int    `json:"format_version"`
	Workspace     string `json:"workspace"`
	Listen        string `json:"listen"`
	Link          string `json:"link"`              // works once
	SignIn        string `json:"sign_in,omitempty"` // with a token
}

func (s served) text(w io.Writer) error {
	token := ""
	if s.SignIn != "" {
		token = "  with a token: " + s.SignIn + "\n"
	}
	_, err := fmt.Fprintf(w, "%s, read-only, at %s\n  open, once: %s\n%s  Ctrl-C ends it\n", s.Workspace, s.Listen, s.Link, token)
	return err
}

// serve shows the workspace until ctx ends, which is how it is meant to end.
func (a *app) serve(ctx context.Context, ask serveAsk) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	d.Close()
	a.agreed = d.Farm
	o := serve.Options{Sources: a.serveSources(d.Workspace), Dir: d.Dir, Log: a.log, OpenAPI: openAPI}
	if o.Scraper, err = readWord(ask.scraper); err != nil {
		return err
	}
	if o.Viewers, err = a.viewers(ask); err != nil {
		return err
	}
	if o.Certificate, err = a.certificate(ask); err != nil {
		return err
	}
	l, err := a.listen(ask.listen, o.Certificate != nil)
	if err != nil {
		return err
	}
	o.Listen = renamed(ask.listen, l.Addr())
	server := serve.New(o)
	said := served{FormatVersion: 1, Workspace: d.Dir, Listen: l.Addr().String()}
	var leaf *x509.Certificate
	if o.Certificate != nil {
		leaf = o.Certificate().Leaf
	}
	address := linkAddress(ask.listen, l.Addr(), leaf)
	said.Link = server.Link(address)
	if o.Viewers != nil {
		said.SignIn = server.SignIn(address)
	}
	if err := a.emit(said, said.text); err != nil {
		return errors.Join(err, l.Close())
	}
	return server.Run(ctx, l)
}

// viewers are those of the file of tokens, read again when it changes. While it cannot be read nobody gets in by it: the line that is wrong may be beside one
// that was removed.
func (a *app) viewers(ask serveAsk) (func() []serve.Viewer, error) {
	if ask.tokens == "" {
		return nil, nil
	}
	f := &followed[[]serve.Viewer]{what: "nobody gets in by a token", log: a.log, files: []string{ask.tokens}, read: func() ([]serve.Viewer, error) { return readTokens(ask.tokens) }}
	return f.now, f.start()
}

// certificate is read again when its files change. While they cannot be read, or do not belong together, the one before is shown.
func (a *app) certificate(ask serveAsk) (func() *tls.Certificate, error) {
	if ask.certificateFile == "" {
		return nil, nil
	}
	f := &followed[*tls.Certificate]{what: "the certificate before is used", log: a.log, files: []string{ask.certificateFile, ask.keyFile}, keeps: true,
		read: func() (*tls.Certificate, error) { return readCertificate(ask.certificateFile, ask.keyFile) }}
	return f.now, f.start()
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

// listen takes the address. What other machines can reach needs a certificate.
func (a *app) listen(listen string, isSecure bool) (net.Listener, error) {
	refuse := func(kind, err error, hint string) (net.Listener, error) {
		return nil, &farm.Error{Op: "listen on", Subject: listen, Err: fmt.Errorf("%w: %w", kind, err), Hint: hint}
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return refuse(farm.ErrInput, fmt.Errorf("%q is not a HOST:PORT", listen), "give an address and a port, such as "+serveAddress)
	}
	l, err := net.Listen("tcp", listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return refuse(farm.ErrInput, errors.New("another process listens there, perhaps another stowage serve"), "take any free port: --listen 127.0.0.1:0")
	case errors.Is(err, syscall.EACCES):
		return refuse(farm.ErrInput, errors.New("this port is for root only"), "take one above 1023, or any free one: --listen 127.0.0.1:0")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return refuse(farm.ErrInput, errors.New("this machine does not have that address"), "give one that it has, or leave --listen out")
	case err != nil:
		if at := (*net.OpError)(nil); errors.As(err, &at) {
			err = at.Err
		}
		return refuse(farm.ErrInput, err, "give an address and a port, such as "+serveAddress)
	}
	if !isSecure && !serve.Loopback(l.Addr()) {
		_ = l.Close() // nobody was answered
		if port == "0" {
			_, port, _ = net.SplitHostPort(serveAddress)
		}
		hint := fmt.Sprintf("give one: --tls-cert FILE --tls-key FILE; or listen on 127.0.0.1:%s and come through a tunnel: ssh -L %s:127.0.0.1:%s HOST", port, port, port)
		return refuse(farm.ErrRefused, errors.New("other machines reach this address, and there is no certificate"), hint)
	}
	return l, nil
}
