package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/safefile"
)

// mostPEM is how many bytes a certificate with its chain, or a key, may have.
const mostPEM = 1 << 20

// readCertificate reads a certificate with its chain, and its key.
func readCertificate(certFile, keyFile string) (*tls.Certificate, error) {
	fail := func(op, file string, err error, hint string) (*tls.Certificate, error) {
		return nil, &farm.Error{Op: op, Subject: file, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	const whole = "give the certificate and what signed it in one PEM file, as fullchain.pem of an ACME client"
	chain, err := safefile.ReadInput(certFile, mostPEM)
	if err != nil {
		return fail("read certificate", certFile, cause(err), whole)
	}
	leaf, err := firstCertificate(chain)
	if err != nil {
		return fail("read certificate", certFile, err, whole)
	}
	if time.Now().After(leaf.NotAfter) {
		return fail("read certificate", certFile, fmt.Errorf("it ended at %s", leaf.NotAfter.UTC().Format("2006-01-02 15:04 UTC")), "renew it")
	}
	key, err := readSecret(keyFile, mostPEM)
	if err != nil {
		return fail("read key", keyFile, err, "chown it to who runs serve, and chmod 600 "+shellWord(keyFile))
	}
	if block, _ := pem.Decode(key); block != nil && (strings.HasPrefix(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "") {
		return fail("read key", keyFile, errors.New("it is sealed with a passphrase"), "openssl pkey -in "+shellWord(keyFile)+" -out plain.key")
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fail("read key", keyFile, fmt.Errorf("it is not a key of %s: %s", certFile, strings.TrimPrefix(err.Error(), "tls: ")), "give the key that the certificate was made for, as a PEM file")
	}
	return &pair, nil
}

// firstCertificate is that of the server itself.
func firstCertificate(text []byte) (*x509.Certificate, error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, errors.New("it has no certificate in PEM")
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
}

// linkAddress is where a browser finds what was bound: by the name that was asked for, or the address, or, where that stands for all addresses of this machine,
// by a name of the certificate.
func linkAddress(listen string, bound net.Addr, leaf *x509.Certificate) string {
	asked, _, _ := net.SplitHostPort(listen)
	host, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return bound.String()
	}
	if asked != "" && net.ParseIP(asked) == nil && !strings.Contains(asked, "%") {
		return net.JoinHostPort(asked, port)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if leaf != nil {
			host = nameIn(leaf, host)
		}
	}
	return net.JoinHostPort(host, port)
}

// nameIn is a name by which browsers accept this certificate: that of this machine, if it is one of them.
func nameIn(leaf *x509.Certificate, otherwise string) string {
	if name, err := os.Hostname(); err == nil && strings.Contains(name, ".") && leaf.VerifyHostname(name) == nil {
		return name
	}
	for _, name := range leaf.DNSNames {
		if !strings.Contains(name, "*") {
			return name
		}
	}
	for _, ip := range leaf.IPAddresses {
		return ip.String()
	}
	return otherwise
}
