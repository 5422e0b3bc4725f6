package farmtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority is a CA of a test, for servers that clients verify.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  string
}

// NewAuthority makes one that is good for an hour.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	did(t, err)
	draft := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA of a test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, draft, draft, &key.PublicKey, key)
	did(t, err)
	cert, err := x509.ParseCertificate(der)
	did(t, err)
	return &Authority{cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// Sign is a certificate for names or addresses, and its key, as PEM.
func (a *Authority) Sign(t *testing.T, names ...string) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	did(t, err)
	draft := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: names[0]}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			draft.IPAddresses = append(draft.IPAddresses, ip)
		} else {
			draft.DNSNames = append(draft.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, a.cert, &own.PublicKey, a.key)
	did(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	did(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

func did(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
