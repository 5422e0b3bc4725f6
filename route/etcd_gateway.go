package route

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// gateway speaks to etcd's JSON gateway, which every etcd from 3.4 on serves
// beside gRPC on its client port (docs/decisions/0006).
type gateway struct {
	endpoints      []string
	http           *http.Client
	timeout        time.Duration
	user, password string

	mu    sync.Mutex
	token string // of the login
	first int    // the member that answered last
}

func newGateway(o EtcdOptions) (*gateway, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("no endpoint is given")
	}
	if !strings.HasSuffix(o.Prefix, "/") {
		return nil, fmt.Errorf("prefix %q does not end in /", o.Prefix)
	}
	for _, e := range o.Endpoints {
		if !strings.HasPrefix(e, "http://") && !strings.HasPrefix(e, "https://") {
			return nil, fmt.Errorf("endpoint %q does not begin with http:// or https://", e)
		}
	}
	conf, err := tlsOf(o)
	if err != nil {
		return nil, err
	}
	g := &gateway{endpoints: o.Endpoints, timeout: o.Timeout, user: o.User, password: o.Password}
	if g.timeout == 0 {
		g.timeout = 3 * time.Second
	}
	// No proxy of the environment: what etcd says has to come from etcd.
	g.http = &http.Client{Transport: &http.Transport{TLSClientConfig: conf, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second}}
	return g, nil
}

func tlsOf(o EtcdOptions) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", o.CA)
		}
	}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// errNotSent: the request reached nobody.
var errNotSent = errors.New("not sent")

// read asks one member after the other until one answers, and all of them
// again while they say at once that they cannot: a leader is chosen within a
// second or two.
func (g *gateway) read(ctx context.Context, path string, ask, answer any) error {
	for began := time.Now(); ; {
		err := g.any(ctx, path, ask, answer, func(err error) bool { return !isAnswer(err) })
		if err == nil || isAnswer(err) || time.Since(began) > g.timeout || pause(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

// write asks the next member only when the last was not reached: a request
// without an answer may have been carried out.
func (g *gateway) write(ctx context.Context, path string, ask, answer any) error {
	err := g.any(ctx, path, ask, answer, func(err error) bool { return errors.Is(err, errNotSent) })
	if err != nil && !isAnswer(err) && !errors.Is(err, errNotSent) {
		err = fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err)
	}
	return err
}

func (g *gateway) any(ctx context.Context, path string, ask, answer any, next func(error) bool) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	g.mu.Lock()
	first := g.first
	g.mu.Unlock()
	var last error
	for i := range g.endpoints {
		at := (first + i) % len(g.endpoints)
		err := g.one(ctx, g.endpoints[at], path, body, answer)
		if err == nil {
			g.mu.Lock()
			g.first = at
			g.mu.Unlock()
			return nil
		}
		last = &farm.Error{Op: "ask etcd", Subject: g.endpoints[at], Err: err, Hint: hintForEtcd(err)}
		if !next(err) || ctx.Err() != nil {
			break
		}
	}
	return last
}

func hintForEtcd(err error) string {
	var refused *etcdError
	if errors.As(err, &refused) && (refused.Code == codeUnauthenticated || refused.Code == codePermission) {
		return "routing.account in farm.yaml names a group of the accounts file with etcd's user and password; it must read and write the prefix"
	}
	return "is etcd up, does it have a leader, and does routing.endpoints in farm.yaml name its client ports?"
}

// one asks one member, and once more after a login if it wants one.
func (g *gateway) one(ctx context.Context, endpoint, path string, body []byte, answer any) error {
	token, err := g.login(ctx, endpoint, "")
	if err != nil {
		return err
	}
	err = g.post(ctx, endpoint+path, token, body, answer)
	var refused *etcdError
	if token != "" && errors.As(err, &refused) && refused.Code == codeUnauthenticated {
		if token, err = g.login(ctx, endpoint, token); err == nil { // it has run out
			err = g.post(ctx, endpoint+path, token, body, answer)
		}
	}
	return err
}

// login gets a token, unless there is one that is not stale.
func (g *gateway) login(ctx context.Context, endpoint, stale string) (string, error) {
	if g.user == "" {
		return "", nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token != stale {
		return g.token, nil
	}
	body, err := json.Marshal(map[string]string{"name": g.user, "password": g.password})
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"token"`
	}
	if err := g.post(ctx, endpoint+"/v3/auth/authenticate", "", body, &answer); err != nil {
		return "", fmt.Errorf("%w: log in: %w", errNotSent, err) // what it is for has not been
	}
	g.token = answer.Token
	return g.token, nil
}

// etcdError is an answer of etcd that is a refusal: nothing was done.
type etcdError struct {
	Code int
	Text string
}

func (e *etcdError) Error() string { return e.Text }

// Codes of gRPC, as the gateway passes them on.
const (
	codeInvalid         = 3
	codeNotFound        = 5
	codePermission      = 7
	codeExhausted       = 8
	codePrecondition    = 9
	codeOutOfRange      = 11
	codeUnauthenticated = 16
)

// isAnswer: etcd itself said no, and has done nothing. Codes that are not
// here (unavailable, deadline exceeded) leave it open.
func isAnswer(err error) bool {
	var e *etcdError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case codeInvalid, codeNotFound, codePermission, codeExhausted, codePrecondition, codeOutOfRange, codeUnauthenticated:
		return true
	}
	return false
}

func (g *gateway) post(ctx context.Context, url, token string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	// By itself Go sends a POST again only when nothing of it was written: a
	// write is sent once.
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := g.http.Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return fmt.Errorf("%w: %w", errNotSent, dial)
		}
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var e struct {
			Error string `json:"error"`
			Code  int    `json:"code"`
		}
		if nested.Unmarshal(raw, &e) != nil || e.Error == "" {
			return fmt.Errorf("it answered %s", resp.Status)
		}
		return &etcdError{Code: e.Code, Text: e.Error}
	}
	if err := nested.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("its answer is not JSON: %w", err)
	}
	return nil
}
