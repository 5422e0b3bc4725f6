package demo

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"stowage/mysql"
	"stowage/workspace"
)

// serverKey is the RSA key with which passwords are encrypted on the way to the
// demo's MySQL servers. All have the same one, and accounts.cnf pins its public
// half: caching_sha2_password, MySQL's default, would send the password under
// whatever key a server says is its own, which Stowage refuses.
type serverKey struct{ private, public []byte }

const (
	privateKeyFile = "server-private-key.pem"
	publicKeyFile  = "server-public-key.pem"
)

func newServerKey() (serverKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return serverKey{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return serverKey{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	text := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	return serverKey{text("PRIVATE KEY", private), text("PUBLIC KEY", public)}, err
}

// pinKey makes the key, and every account know it.
func (b *builder) pinKey() (err error) {
	if !b.local.IsMySQL() {
		return nil
	}
	if b.key, err = newServerKey(); err != nil {
		return err
	}
	for _, a := range []*mysql.Account{&b.accounts.Admin, &b.accounts.Client, &b.accounts.Backup, &b.root} {
		a.PublicKey = string(b.key.public)
	}
	b.accounts.Replication.Source = &mysql.SourceTLS{Off: true, PublicKey: b.path(publicKeyFile)}
	return nil
}

func (b *builder) writeKey() error {
	if !b.local.IsMySQL() {
		return nil
	}
	f, err := os.OpenFile(b.path(privateKeyFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.key.private)
	return errors.Join(err, b.local.Own(f), f.Close(), workspace.WriteFileAtomic(b.path(publicKeyFile), b.key.public, 0o644))
}

// pinned is the line of a group of accounts.cnf. Replicas read the file themselves.
func (b *builder) pinned(group string) string {
	switch {
	case !b.local.IsMySQL():
		return ""
	case group == "replication":
		return "server-public-key-path = " + b.path(publicKeyFile) + "\n"
	}
	return "server-public-key-path = " + publicKeyFile + "\n"
}

// keyOptions are what a MySQL server needs to use the key.
func (b *builder) keyOptions() []byte {
	if !b.local.IsMySQL() {
		return nil
	}
	return fmt.Appendf(nil, "caching_sha2_password_private_key_path = %s\ncaching_sha2_password_public_key_path = %s\n", b.path(privateKeyFile), b.path(publicKeyFile))
}
