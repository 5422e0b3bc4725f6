package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/safefile"
)

// A farm has a certificate authority of its own, made by Authority and kept
// where the program that moves the farm runs. Names in certificates are roles
// and host names, not addresses: a machine may move without a new certificate.
const (
	// RoleController may ask agents for anything; RoleEngine is the engine's
	// server side; RoleHost may serve its own queue and exchange copies.
	RoleController = "controller"
	RoleEngine     = "engine"
	RoleHost       = "host"

	// EngineName is what the engine's certificate is valid for.
	EngineName = "engine.stowage"

	caFile  = "ca.crt"
	caKey   = "ca.key"
	ownFile = "own.crt"
	ownKey  = "own.key"

	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 2 * 365 * 24 * time.Hour
)

// HostDNS is the name a host's certificate is valid for.
func HostDNS(h farm.HostName) string { return string(h) + ".host.stowage" }

// Authority makes the certificates of one farm, in one directory:
//
//	ca.crt, ca.key        the authority
//	controller/, engine/  what the program that moves the farm needs
//	hosts/NAME/           to be copied to that host, as it is: ca.crt, own.crt, own.key
//	issued, revoked       serial numbers: of all certificates, and of those not accepted any more
//
// Everything is readable by its owner only.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// OpenAuthority reads the authority in dir, or makes it when there is none.
func OpenAuthority(dir string, now time.Time) (*Authority, error) {
	_, err := os.Stat(filepath.Join(dir, caKey))
	if errors.Is(err, fs.ErrNotExist) {
		return newAuthority(dir, now)
	}
	a, err := ReadAuthority(dir)
	if err == nil {
		a.key, err = readKey(filepath.Join(dir, caKey))
	}
	return a, err
}

// ReadAuthority reads what can be read without the authority's key, which need
// not be there: it can make no certificate.
func ReadAuthority(dir string) (*Authority, error) {
	cert, err := readCertificate(filepath.Join(dir, caFile))
	if err != nil {
		return nil, err
	}
	return &Authority{dir: dir, cert: cert}, nil
}

func newAuthority(dir string, now time.Time) (*Authority, error) {
	if _, err := os.Stat(filepath.Join(dir, caFile)); err == nil {
		return nil, &farm.Error{Op: "open authority", Subject: dir, Err: fmt.Errorf("%w: %s is there and its key %s is not", farm.ErrRefused, caFile, caKey),
			Hint: "bring the key back, or name another directory; every host needs new certificates then"}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, &farm.Error{Op: "make authority", Subject: dir, Err: err}
	}
	t, err := template("Stowage authority", "", now, caLife)
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, &farm.Error{Op: "make authority", Subject: dir, Err: err}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &farm.Error{Op: "make authority", Subject: dir, Err: err}
	}
	// The key comes last: without it the authority is not there yet.
	err = writePEM(filepath.Join(dir, caFile), "CERTIFICATE", der)
	if err == nil {
		err = writeKey(filepath.Join(dir, caKey), key)
	}
	if err != nil {
		return nil, err
	}
	return &Authority{dir, cert, key}, nil
}

func template(name, role string, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, &farm.Error{Op: "make certificate", Subject: name, Err: err}
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life)} // clocks of hosts differ
	if role != "" {
		t.Subject.OrganizationalUnit = []string{role}
	}
	return t, nil
}

// Issued is one certificate of a farm.
type Issued struct {
	Role    string        `json:"role"`
	Name    string        `json:"name"`
	Dir     string        `json:"dir"`
	Expires time.Time     `json:"expires"`
	Left    time.Duration `json:"-"`
	New     bool          `json:"new"`
	Revoked bool          `json:"revoked,omitempty"` // it is not accepted any more
}

// Controller and Engine and Host give the directory of a certificate, which is
// made when there is none, or when renew is set.
func (a *Authority) Controller(now time.Time, renew bool) (Issued, error) {
	return a.issue(RoleController, RoleController, nil, filepath.Join(a.dir, "controller"), now, renew)
}

// Engine is the server certificate of an engine that listens for other machines.
func (a *Authority) Engine(now time.Time, renew bool) (Issued, error) {
	return a.issue(RoleEngine, RoleEngine, []string{EngineName}, filepath.Join(a.dir, "engine"), now, renew)
}

// Host is the certificate of one host.
func (a *Authority) Host(name farm.HostName, now time.Time, renew bool) (Issued, error) {
	return a.issue(string(name), RoleHost, []string{HostDNS(name)}, a.hostDir(name), now, renew)
}

func (a *Authority) hostDir(name farm.HostName) string {
	return filepath.Join(a.dir, "hosts", string(name))
}

func (a *Authority) issue(name, role string, dns []string, dir string, now time.Time, renew bool) (Issued, error) {
	out := Issued{Role: role, Name: name, Dir: dir}
	replaced := ""
	if old, err := readCertificate(filepath.Join(dir, ownFile)); err == nil && a.signed(old) {
		if !renew {
			return a.standing(out, old, now)
		}
		replaced = serialOf(old)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return out, &farm.Error{Op: "make certificate", Subject: name, Err: err}
	}
	t, err := template(name, role, now, leafLife)
	if err != nil {
		return out, err
	}
	if t.NotAfter.After(a.cert.NotAfter) {
		t.NotAfter = a.cert.NotAfter
	}
	t.DNSNames = dns
	t.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if role != RoleController {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return out, &farm.Error{Op: "make certificate", Subject: name, Err: err}
	}
	if err := a.remember(name, role, t.SerialNumber.Text(16), replaced, now); err != nil {
		return out, err
	}
	// The certificate goes first when it is made anew: with a key that does
	// not fit, loading fails and says so, and a second try makes both.
	_ = os.Remove(filepath.Join(dir, ownFile))
	for _, write := range []func() error{
		func() error { return writePEM(filepath.Join(dir, caFile), "CERTIFICATE", a.cert.Raw) },
		func() error { return writeKey(filepath.Join(dir, ownKey), key) },
		func() error { return writePEM(filepath.Join(dir, ownFile), "CERTIFICATE", der) },
	} {
		if err := write(); err != nil {
			return out, err
		}
	}
	out.New, out.Expires, out.Left = true, t.NotAfter, t.NotAfter.Sub(now)
	return out, nil
}

// standing tells of a certificate that is there.
func (a *Authority) standing(out Issued, c *x509.Certificate, now time.Time) (Issued, error) {
	out.Expires, out.Left = c.NotAfter, c.NotAfter.Sub(now)
	revoked, err := a.Revoked()
	out.Revoked = slices.ContainsFunc(revoked, func(x Revocation) bool { return x.Serial == serialOf(c) })
	return out, err
}

func (a *Authority) signed(c *x509.Certificate) bool { return c.CheckSignatureFrom(a.cert) == nil }

// Expires is when the authority itself does.
func (a *Authority) Expires() time.Time { return a.cert.NotAfter }

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return &farm.Error{Op: "write key", Subject: path, Err: err}
	}
	return writePEM(path, "PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// writeFile replaces a file that only its owner may read.
func writeFile(path string, content []byte) error {
	fail := func(err error) error { return &farm.Error{Op: "write", Subject: path, Err: err} }
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // made with mode 0600
	if err != nil {
		return fail(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err == nil {
		err = lasting.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

func readPEM(path string) ([]byte, error) {
	raw, err := safefile.ReadInput(path, 1<<20)
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage agent certs makes certificates"}
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: not a PEM file", farm.ErrInput), Hint: "stowage agent certs makes certificates"}
	}
	return block.Bytes, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	der, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return cert, nil
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	about, err := os.Stat(path)
	if err == nil && about.Mode()&0o077 != 0 {
		return nil, &farm.Error{Op: "read key", Subject: path, Err: fmt.Errorf("%w: others may read it (mode %04o)", farm.ErrRefused, about.Mode().Perm()),
			Hint: "chmod 600 " + path + "; if anyone may have read it: stowage agent certs --renew"}
	}
	der, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, &farm.Error{Op: "read key", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, &farm.Error{Op: "read key", Subject: path, Err: fmt.Errorf("%w: not an ECDSA key", farm.ErrInput)}
	}
	return key, nil
}
