package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"stowage/farm"
	"stowage/host"
)

// A copy goes over one HTTP/2 request between two agents that show each other
// their certificates:
//
//	GET /copy  Authorization: Bearer TOKEN
//	200, body: the copy, in blocks; trailers: its length, its CRC-32C, and an error if there was one
//
// Compressed blocks carry a checksum (XXH64) of what is in them as well. A body
// that ends without its last block and its trailers was cut.
const (
	copyPath     = "/copy"
	trailerBytes = "Stowage-Bytes"
	trailerSum   = "Stowage-Crc32c"
	trailerError = "Stowage-Error"

	// offerLife is how long an offer waits to be taken.
	offerLife = 30 * time.Minute
	// A line that is dead is noticed after two of these; a copy that is held
	// at 0 bytes a second is not dead.
	pingAfter = 5 * time.Second
)

// ErrCut: a copy ended before its end. What has arrived is of no use.
var ErrCut = errors.New("the copy was cut short")

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once by the library

// offers are the copies that may be read from this host.
type offers struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*offered // by the hash of the token: comparing tells nothing
}

type offered struct {
	origin host.Origin
	to     farm.HostName
	until  time.Time
	bucket *host.Bucket
	taken  bool
}

func newOffers() *offers { return &offers{all: map[[sha256.Size]byte]*offered{}} }

// offer lets one host read one copy, once.
func (a *Agent) offer(q request) error {
	if len(q.Token) < 20 || q.To == "" {
		return fmt.Errorf("%w: an offer without token or receiver", farm.ErrRefused)
	}
	o := a.offers
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, old := range o.all {
		if time.Now().After(old.until) && !old.taken {
			delete(o.all, k)
		}
	}
	bucket := host.NewBucket(q.Rate)
	o.all[sha256.Sum256([]byte(q.Token))] = &offered{origin: q.Origin, to: q.To, until: time.Now().Add(offerLife), bucket: bucket}
	return nil
}

// pace changes how fast an offered copy may go.
func (a *Agent) pace(q request) error {
	o := a.offers
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.all[sha256.Sum256([]byte(q.Token))]
	if c == nil {
		return nil // it has ended
	}
	c.bucket.Set(q.Rate)
	return nil
}

// take gives an offer to the host that it is for, once.
func (o *offers) take(token string, to string) (*offered, [sha256.Size]byte, error) {
	key := sha256.Sum256([]byte(token))
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.all[key]
	switch {
	case c == nil, time.Now().After(c.until):
		return nil, key, errors.New("there is no such offer")
	case c.taken:
		return nil, key, errors.New("the offer has been taken")
	case string(c.to) != to:
		return nil, key, fmt.Errorf("the offer is for %s", c.to)
	}
	c.taken = true
	return c, key, nil
}

func (o *offers) drop(key [sha256.Size]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, key)
}

// serveCopies serves until stop is called.
func (a *Agent) serveCopies(ended func(error)) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+copyPath, a.sendCopy)
	s := &http.Server{
		Handler: mux, TLSConfig: a.o.Identity.Server(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(a.o.Log.Handler(), slog.LevelDebug),
		HTTP2:    &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
	}
	go func() {
		if err := s.ServeTLS(lineListener{a.listen}, "", ""); !errors.Is(err, http.ErrServerClosed) {
			ended(err)
		}
	}()
	return func() { _ = s.Close() } // copies under way are cut: the receiver begins again
}

// sendCopy streams what was offered.
func (a *Agent) sendCopy(w http.ResponseWriter, r *http.Request) {
	peer := r.TLS.PeerCertificates[0]
	token := r.Header.Get("Authorization")
	if len(token) > len("Bearer ") {
		token = token[len("Bearer "):]
	}
	if role(peer) != RoleHost {
		http.Error(w, "copies are for hosts", http.StatusForbidden)
		return
	}
	c, key, err := a.offers.take(token, peer.Subject.CommonName)
	if err != nil {
		a.audit.refused("copy to "+peer.Subject.CommonName, err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	defer a.offers.drop(key)
	ctx, stop := a.o.Identity.revoked.guard(r.Context(), peer)
	defer stop(nil)
	start := time.Now()
	note := auditLine{Event: "begin", Call: "send", ID: fmt.Sprintf("%x", key[:6]), On: request{Origin: c.origin}.subject(), Peer: string(c.to)}
	a.audit.write(note)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Trailer", trailerBytes+", "+trailerSum+", "+trailerError)
	n, err := a.pump(ctx, w, c)
	if cause := context.Cause(ctx); errors.Is(cause, ErrRevoked) {
		err = cause
	}
	note.Event, note.Bytes, note.Seconds = "done", n, time.Since(start).Seconds()
	if err != nil {
		note.Event, note.Error = "failed", err.Error()
		// The end of a header line is the end of a header.
		w.Header().Set(trailerError, strconv.QuoteToASCII(err.Error()))
	}
	a.audit.write(note)
}

// pump backs the source up into the response and sets its trailers.
func (a *Agent) pump(ctx context.Context, w http.ResponseWriter, c *offered) (int64, error) {
	z, err := newBlockWriter(ctx, w, c.bucket)
	if err != nil {
		return 0, err
	}
	err = a.o.Machine.Send(ctx, c.origin, z)
	if closeErr := z.Close(); err == nil {
		err = closeErr
	}
	w.Header().Set(trailerBytes, strconv.FormatInt(z.n, 10))
	w.Header().Set(trailerSum, strconv.FormatUint(uint64(z.sum), 16))
	return z.n, err
}
