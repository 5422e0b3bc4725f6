package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"time"
)

// An engine for this machine alone gets certificates that are made when it is first started, and forgotten when the last program
// that needs it ends. The child reads its own from pipes that it inherits. Programs that join it find them in engine.at, which only
// the owner of the workspace can read: whoever can, can read engine.key and the engine's file, too. Every user of a machine reaches
// a loopback port; only who may read that file holds a key.
const (
	engineName     = "engine.stowage" // what the engine's certificate is valid for, whatever address it listens on
	roleController = "controller"
	roleEngine     = "engine"
	runLife        = 10 * 365 * 24 * time.Hour // longer than any run; the keys are gone with it
)

// runCertificates are those of one run, as PEM. A child that is started again is given the same.
type runCertificates struct {
	CA         []byte `json:"ca"`
	Engine     []byte `json:"engine"` // certificate and key of the child
	EngineKey  []byte `json:"engine_key"`
	Control    []byte `json:"control"` // of whoever dials it
	ControlKey []byte `json:"control_key"`
}

func newRunCertificates(now time.Time) (*runCertificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make certificates of the engine: %w", err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Stowage run"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(runLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make certificates of the engine: %w", err)
	}
	r := &runCertificates{CA: pemOf("CERTIFICATE", der)}
	// The authority's own key is forgotten here: nobody can issue a third certificate of the run.
	if r.Engine, r.EngineKey, err = leaf(root, key, 2, roleEngine, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth); err != nil {
		return nil, err
	}
	r.Control, r.ControlKey, err = leaf(root, key, 3, roleController, x509.ExtKeyUsageClientAuth)
	return r, err
}

func leaf(root *x509.Certificate, signer *ecdsa.PrivateKey, number int64, role string, uses ...x509.ExtKeyUsage) (cert, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate of %s: %w", role, err)
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: role, OrganizationalUnit: []string{role}},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: uses}
	if role == roleEngine {
		t.DNSNames = []string{engineName}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, root, own.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate of %s: %w", role, err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate of %s: %w", role, err)
	}
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", raw), nil
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// client is how to dial the engine of this run.
func (r *runCertificates) client() (*tls.Config, error) {
	pair, err := tls.X509KeyPair(r.Control, r.ControlKey)
	if err != nil {
		return nil, fmt.Errorf("read certificate of the run: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.CA)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: engineName}, nil
}

// hand gives the child its certificate, its key and the authority as files that it inherits. Each is far smaller than a pipe holds,
// so that nobody waits. given closes our ends, after the start.
func (r *runCertificates) hand(cmd *exec.Cmd) (given func(), err error) {
	given = func() {
		for _, f := range cmd.ExtraFiles {
			_ = f.Close()
		}
	}
	for _, x := range []struct {
		flag string
		text []byte
	}{{"--tls-cert", r.Engine}, {"--tls-key", r.EngineKey}, {"--tls-ca", r.CA}} {
		out, in, err := os.Pipe()
		if err != nil {
			given()
			return nil, fmt.Errorf("hand certificates to the engine: %w", err)
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, out)
		_, err = in.Write(x.text)
		if closing := in.Close(); err == nil {
			err = closing
		}
		if err != nil {
			given()
			return nil, fmt.Errorf("hand certificates to the engine: %w", err)
		}
		cmd.Args = append(cmd.Args, x.flag, fmt.Sprintf("/proc/self/fd/%d", 2+len(cmd.ExtraFiles)))
	}
	return given, nil
}
