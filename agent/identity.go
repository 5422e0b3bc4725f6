package agent

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stowage/farm"
)

// Identity is who a process of the farm is: its certificate and key, and the
// authority it believes.
type Identity struct {
	Name, Role string
	Dir        string // holds ca.crt, own.crt and own.key
	cert       *x509.Certificate
	key        *ecdsa.PrivateKey
	roots      *x509.CertPool
	revoked    *revocations // a controller reads its authority's list, an agent keeps its own
}

// ReadIdentity reads dir, as Authority writes it.
func ReadIdentity(dir string, now time.Time) (*Identity, error) {
	ca, err := readCertificate(filepath.Join(dir, caFile))
	if err != nil {
		return nil, err
	}
	id := &Identity{Dir: dir, roots: x509.NewCertPool()}
	id.roots.AddCert(ca)
	if id.cert, err = readCertificate(filepath.Join(dir, ownFile)); err != nil {
		return nil, err
	}
	if id.key, err = readKey(filepath.Join(dir, ownKey)); err != nil {
		return nil, err
	}
	if !id.key.PublicKey.Equal(id.cert.PublicKey) {
		return nil, &farm.Error{Op: "read identity", Subject: dir, Err: fmt.Errorf("%w: %s and %s do not belong together", farm.ErrInput, ownFile, ownKey),
			Hint: "stowage agent certs --renew, and copy the whole directory"}
	}
	if now.After(id.cert.NotAfter) {
		return nil, &farm.Error{Op: "read identity", Subject: dir, Err: fmt.Errorf("%w: the certificate expired on %s", farm.ErrRefused, id.cert.NotAfter.Format(time.DateOnly)),
			Hint: "stowage agent certs --renew, and copy the directory to its host"}
	}
	id.Name, id.Role, id.revoked = id.cert.Subject.CommonName, role(id.cert), &revocations{}
	if id.Role == RoleController {
		// Authority puts its list beside the directories of its certificates.
		id.revoked, err = openRevocations(filepath.Join(filepath.Dir(filepath.Clean(dir)), revokedFile))
	}
	return id, err
}

func role(c *x509.Certificate) string {
	if len(c.Subject.OrganizationalUnit) != 1 {
		return ""
	}
	return c.Subject.OrganizationalUnit[0]
}

// Expires is when the certificate does.
func (id *Identity) Expires() time.Time { return id.cert.NotAfter }

// Files are the paths of certificate, key and authority, for a program that
// wants files.
func (id *Identity) Files() (cert, key, ca string) {
	return filepath.Join(id.Dir, ownFile), filepath.Join(id.Dir, ownKey), filepath.Join(id.Dir, caFile)
}

func (id *Identity) pair() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{id.cert.Raw}, PrivateKey: id.key, Leaf: id.cert}
}

// Client is the TLS configuration to reach a server of the farm by its name in
// certificates, whatever its address.
func (id *Identity) Client(server string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.pair()}, RootCAs: id.roots, ServerName: server, VerifyConnection: id.revoked.peer}
}

// clusterDir, beside the certificates, holds others of the same names for a
// Temporal cluster of the team's own.
const clusterDir = "cluster"

// EngineTLS is the TLS configuration for the engine at address: ours, by the
// farm's own authority, or a cluster's when a directory cluster/ with its
// ca.crt, own.crt and own.key stands beside our certificates.
func (id *Identity) EngineTLS(address string) (*tls.Config, error) {
	dir := filepath.Join(id.Dir, clusterDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return id.Client(EngineName), nil
	}
	pem, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, ownFile), filepath.Join(dir, ownKey))
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &farm.Error{Op: "read address of engine", Subject: address, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: name}, nil
}

// Server is the TLS configuration of a server that only the farm's own may
// speak to.
func (id *Identity) Server() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.pair()}, ClientCAs: id.roots, ClientAuth: tls.RequireAndVerifyClientCert, VerifyConnection: id.revoked.peer}
}

// verify parses a certificate that came with a message, and compares it with
// the authority and the role it must have. dns, when set, is the name it must
// be valid for.
func (id *Identity) verify(der []byte, want, dns string, now time.Time) (*x509.Certificate, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%w: a certificate that cannot be read: %w", farm.ErrRefused, err)
	}
	_, err = cert.Verify(x509.VerifyOptions{Roots: id.roots, DNSName: dns, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return nil, fmt.Errorf("%w: the certificate of %q: %w", farm.ErrRefused, cert.Subject.CommonName, err)
	}
	if !slices.Equal(cert.Subject.OrganizationalUnit, []string{want}) {
		return nil, fmt.Errorf("%w: %q has the role %q, and this takes a %s", farm.ErrRefused, cert.Subject.CommonName, role(cert), want)
	}
	return cert, id.revoked.check(cert)
}
