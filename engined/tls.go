package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"go.temporal.io/server/common/rpc/encryption"
)

// files are the certificate that this engine shows, and the authority whose certificates it takes. There is no engine without them.
type files struct {
	cert, key, ca string
	revoked       string // numbers of certificates that are refused; "": none
}

func (f files) check() error {
	if f.cert == "" || f.key == "" || f.ca == "" {
		return errors.New("--tls-cert, --tls-key and --tls-ca are required: the engine serves no client without a certificate")
	}
	return nil
}

const (
	// engineName is what the engine's own certificate is valid for, whatever address it listens on (packages agent and engine make it).
	engineName = "engine.stowage"
	// insideName is what the certificate between the services of this process is valid for.
	insideName = "inside.engine.stowage"
)

// wires is the TLS of every socket of this process. It implements encryption.TLSConfigProvider.
//
// The frontend takes certificates of the farm's authority. History and matching, which ask nobody for leave, take one certificate
// only: it is made when the process starts, by an authority made for it, and its key is never written anywhere.
type wires struct {
	outside, inside pair
	revoked         *revoked
}

// pair is a certificate and the authority that both ends of a connection believe.
type pair struct {
	own   tls.Certificate
	roots *x509.CertPool
	name  string
}

func newWires(f files) (*wires, error) {
	own, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	pem, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read authority %s: no certificate in it", f.ca)
	}
	inside, err := newInside(time.Now())
	if err != nil {
		return nil, fmt.Errorf("make certificate between services: %w", err)
	}
	w := &wires{outside: pair{own, roots, engineName}, inside: inside, revoked: &revoked{path: f.revoked}}
	return w, w.revoked.read()
}

// newInside makes the certificate between the services. It is its own authority: nobody can issue a second one, as its key signs
// nothing else and ends with the process.
func newInside(now time.Time) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: insideName}, DNSNames: []string{insideName},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0), // longer than any process runs
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return pair{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return pair{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, roots, insideName}, nil
}

// server answers nobody without a certificate: in TLS 1.3 no byte of the application goes out before the client's has been verified.
func (p pair) server() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{p.own},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: p.roots}
}

func (p pair) client() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{p.own}, RootCAs: p.roots, ServerName: p.name}
}

func (w *wires) GetInternodeServerConfig() (*tls.Config, error) { return w.inside.server(), nil }
func (w *wires) GetInternodeClientConfig() (*tls.Config, error) { return w.inside.client(), nil }
func (w *wires) GetFrontendClientConfig() (*tls.Config, error)  { return w.outside.client(), nil }

// GetFrontendServerConfig also refuses a revoked certificate at the door; on connections that were open before, access does.
func (w *wires) GetFrontendServerConfig() (*tls.Config, error) {
	c := w.outside.server()
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 || w.revoked.has(s.PeerCertificates[0]) {
			return errors.New("the certificate is revoked")
		}
		return nil
	}
	return c, nil
}

// GetRemoteClusterClientConfig: there are no other clusters.
func (w *wires) GetRemoteClusterClientConfig(string) (*tls.Config, error) {
	return nil, errors.New("this engine knows no other cluster")
}

// GetExpiringCerts is for a watch that is not switched on.
func (w *wires) GetExpiringCerts(time.Duration) (expiring, expired encryption.CertExpirationMap, err error) {
	return nil, nil, nil
}
