package mysql

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// TLS is how connections to a server are made: with certificates as text, so
// that an agent on another machine, which has none of the files, can use it.
type TLS struct {
	CA        string // who may vouch for a server
	Cert, Key string `json:",omitempty"` // ours, where the account asks for one
	AnyName   bool   `json:",omitempty"` // the certificate may be for another name: the chain alone counts
}

// refusedKeys names keys that somebody would believe to protect him. All other
// keys that we do not know are for other programs.
func refusedKeys(keys map[string]string) error {
	for _, key := range []string{"ssl_capath", "ssl_crl", "ssl_crlpath", "ssl_cipher", "tls_version", "ssl_mode"} {
		if _, is := keys[key]; is {
			return fmt.Errorf("%s is not supported; ssl-ca names the file with the CA, and TLS is required then", strings.ReplaceAll(key, "_", "-"))
		}
	}
	return nil
}

// tlsOf reads the files that the keys name. A CA makes TLS required; without a
// CA no server could prove who it is, and a rogue one has a certificate, too.
func tlsOf(dir string, keys map[string]string) (*TLS, error) {
	wanted, err := switched(keys, "ssl", keys["ssl_ca"] != "")
	if err != nil {
		return nil, err
	}
	byName, err := switched(keys, "ssl_verify_server_cert", true)
	switch {
	case err != nil:
		return nil, err
	case keys["ssl_ca"] == "" && (wanted || keys["ssl_cert"] != "" || keys["ssl_key"] != ""):
		return nil, errors.New("TLS without ssl-ca: any server could claim to be the one that is meant. Name the file with the CA's certificate: ssl-ca=FILE")
	case !wanted:
		return nil, nil
	case (keys["ssl_cert"] == "") != (keys["ssl_key"] == ""):
		return nil, errors.New("ssl-cert and ssl-key belong together")
	}
	out := &TLS{AnyName: !byName}
	ca, err := os.ReadFile(below(dir, keys["ssl_ca"]))
	if err != nil {
		return nil, err
	}
	out.CA = string(ca)
	if keys["ssl_key"] != "" {
		cert, err := os.ReadFile(below(dir, keys["ssl_cert"]))
		if err != nil {
			return nil, err
		}
		key, err := readPrivate(below(dir, keys["ssl_key"]))
		if err != nil {
			return nil, err
		}
		out.Cert, out.Key = string(cert), string(key)
	}
	_, err = out.config("")
	return out, err
}

// switched is a key that is on or off; there without a value it is on.
func switched(keys map[string]string, key string, otherwise bool) (bool, error) {
	value, is := keys[key]
	switch strings.ToLower(value) {
	case "":
		return is || otherwise, nil
	case "1", "on", "true", "yes":
		return true, nil
	case "0", "off", "false", "no":
		return false, nil
	}
	return false, fmt.Errorf("%s=%s: want 1 or 0", strings.ReplaceAll(key, "_", "-"), value)
}

// config is for a connection to a host, by the name or address we know it by.
func (t *TLS) config(host string) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(t.CA)) {
		return nil, errors.New("ssl-ca: no certificate (PEM) in the file")
	}
	out := &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}
	if t.Key != "" {
		pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("ssl-cert and ssl-key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	if t.AnyName {
		// The library checks chain and name together or not at all; this is the chain.
		out.InsecureSkipVerify = true
		out.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, roots) }
	}
	return out, nil
}

func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// hintForTLS is what to do about a handshake that failed; "" for another error.
func hintForTLS(err error) string {
	var name x509.HostnameError
	var foreign x509.UnknownAuthorityError
	switch {
	case errors.As(err, &name):
		return "is this the server that is meant? If its certificate has another name than farm.yaml, let it have this one, too, or have the chain alone checked: ssl-verify-server-cert=0"
	case errors.As(err, &foreign):
		return "is this the server that is meant? If it is, ssl-ca must name the CA that signed its certificate"
	}
	return ""
}

func rsaKey(text string) (*rsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("no public key (PEM)")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if out, ok := key.(*rsa.PublicKey); ok {
		return out, nil
	}
	return nil, errors.New("not an RSA key")
}

// SourceTLS is how a replica's link to its source uses TLS: options of CHANGE
// MASTER, whose files lie on the replica's host.
type SourceTLS struct {
	CA, CAPath, Cert, Key, Cipher, CRL, CRLPath string `json:",omitempty"`
	Versions                                    string `json:",omitempty"` // MySQL
	Verify                                      bool   `json:",omitempty"`
	PublicKey                                   string `json:",omitempty"` // MySQL without TLS: a path
	Off                                         bool   `json:",omitempty"` // said so: no TLS
}

// Files are the paths that a replica's host must have.
func (t *SourceTLS) Files() []string {
	if t == nil {
		return nil
	}
	return slices.DeleteFunc([]string{t.CA, t.CAPath, t.Cert, t.Key, t.CRL, t.CRLPath, t.PublicKey}, func(p string) bool { return p == "" })
}

// sourceOf is what [replication] says. Its paths are the servers'.
func sourceOf(keys map[string]string) (*SourceTLS, error) {
	wanted, err := switched(keys, "ssl", keys["ssl_ca"] != "")
	if err != nil {
		return nil, err
	}
	verify, err := switched(keys, "ssl_verify_server_cert", true)
	if err != nil {
		return nil, err
	}
	_, said := keys["ssl"]
	t := &SourceTLS{CA: keys["ssl_ca"], Cert: keys["ssl_cert"], Key: keys["ssl_key"], Verify: verify, PublicKey: keys["server_public_key_path"], Off: !wanted}
	for _, path := range t.Files() {
		if !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("%s is on the hosts of the servers: write an absolute path", path)
		}
	}
	switch {
	case wanted && t.CA == "":
		return nil, errors.New("ssl without ssl-ca: replicas could not tell their source from another server. Name the file with the CA on the servers' hosts")
	case !wanted && !said && t.CA == "" && t.PublicKey == "":
		return nil, nil
	}
	return t, nil
}

// hostOf is the host of host:port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
