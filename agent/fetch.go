package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
)

// reachFor is how long a fetch tries to reach the other agent before the first
// byte: two hosts may be cut off from each other while both hear the engine.
const reachFor = 2 * time.Minute

// fetch gets a copy from another agent into the data directory of an instance
// here. A fetch that another process began is not continued: half a copy is
// none.
func (a *Agent) fetch(ctx context.Context, r *running, q request) (host.Copied, error) {
	fail := func(err error) (host.Copied, error) {
		return host.Copied{}, &farm.Error{Op: "fetch copy from " + string(q.From), Subject: q.subject(), Err: err, Hint: farm.Hint(err)}
	}
	if r.again {
		return fail(fmt.Errorf("%w: the agent was restarted in between", ErrCut))
	}
	if q.From == a.o.Host {
		return a.copyHere(ctx, r, q)
	}
	client := a.copyClient(q.From)
	defer client.CloseIdleConnections()
	body, trailer, peer, err := a.reach(ctx, client, q, r)
	if err != nil {
		return fail(err)
	}
	defer body.Close()
	ctx, stop := a.o.Identity.revoked.guard(ctx, peer)
	defer stop(nil)
	out, sum, err := a.unpack(ctx, body, q.Target, r)
	if err == nil {
		err = honest(trailer, out.Bytes, sum)
	} else if said := trailer.Get(trailerError); said != "" {
		err = errors.Join(farSaid(said), err)
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// copyHere is a copy from this host to itself: nothing goes over a line.
func (a *Agent) copyHere(ctx context.Context, r *running, q request) (host.Copied, error) {
	q.To = a.o.Host
	if err := a.offer(q); err != nil {
		return host.Copied{}, err
	}
	c, key, err := a.offers.take(q.Token, string(a.o.Host))
	if err != nil {
		return host.Copied{}, err
	}
	defer a.offers.drop(key)
	return host.Copy{From: a.o.Machine, Origin: q.Origin, To: a.o.Machine, Target: q.Target, Rate: c.bucket.Rate,
		Moved: func(n int64) { r.progress.Store(strconv.FormatInt(n, 10)) }}.Run(ctx)
}

func (a *Agent) copyClient(from farm.HostName) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     a.o.Identity.Client(HostDNS(from)),
		ForceAttemptHTTP2:   true,
		DialContext:         dialLine,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter,
			MaxReadFrameSize: 1 << 20, MaxReceiveBufferPerStream: 8 << 20, MaxReceiveBufferPerConnection: 16 << 20},
	}}
}

func dialLine(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newLineConn(c), nil
}

// reach opens the copy, patiently while the other side does not answer at all.
func (a *Agent) reach(ctx context.Context, client *http.Client, q request, r *running) (io.ReadCloser, *http.Header, *x509.Certificate, error) {
	giveUp := time.Now().Add(reachFor)
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+q.Address+copyPath, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+q.Token)
		resp, err := client.Do(req)
		if err == nil && resp.StatusCode == http.StatusOK && resp.ProtoMajor == 2 {
			return resp.Body, &resp.Trailer, resp.TLS.PeerCertificates[0], nil
		}
		if err == nil {
			said, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
			resp.Body.Close()
			return nil, nil, nil, fmt.Errorf("%w: %s answers %s over %s: %s", ErrCut, q.From, resp.Status, resp.Proto, strings.TrimSpace(string(said)))
		}
		if ctx.Err() != nil || time.Now().After(giveUp) || errors.Is(err, ErrRevoked) {
			return nil, nil, nil, err
		}
		r.progress.Store("0 cannot reach " + string(q.From) + " at " + q.Address + " yet")
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// unpack feeds the body to the machine and sums it on the way.
func (a *Agent) unpack(ctx context.Context, body io.Reader, to host.Destination, r *running) (host.Copied, uint32, error) {
	z, err := newBlockReader(body, func(n int64) { r.progress.Store(strconv.FormatInt(n, 10)) })
	if err != nil {
		return host.Copied{}, 0, err
	}
	defer z.close()
	out, err := a.o.Machine.Receive(ctx, to, z)
	if z.err != nil && !errors.Is(z.err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrCut, err)
	} else if z.err == nil && err == nil {
		err = fmt.Errorf("%w: its receiver did not read it to the end", ErrCut)
	}
	out.Bytes = z.n
	return out, z.sum, err
}

// honest compares what arrived with what was sent.
func honest(trailer *http.Header, n int64, sum uint32) error {
	if said := trailer.Get(trailerError); said != "" {
		return farSaid(said)
	}
	bytes, crc := trailer.Get(trailerBytes), trailer.Get(trailerSum)
	if bytes == "" || crc == "" {
		return fmt.Errorf("%w: it has no end", ErrCut)
	}
	if bytes != strconv.FormatInt(n, 10) || crc != strconv.FormatUint(uint64(sum), 16) {
		return fmt.Errorf("%w: %s bytes with checksum %s were sent, %d with %x arrived", ErrCut, bytes, crc, n, sum)
	}
	return nil
}

func farSaid(quoted string) error {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		text = quoted
	}
	return fmt.Errorf("the sender says: %s", text)
}
