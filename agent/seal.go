package agent

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/hpke"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
)

// Messages cross the engine sealed: encrypted to the key of the one
// certificate that may read them (HPKE, RFC 9180: P-256, HKDF-SHA256,
// AES-256-GCM) and signed with the sender's. The purpose binds a message to
// its call, so that none can be used for another.

// errSealed: a message was not for this key. The sender may hold a certificate
// that has been renewed since.
var errSealed = errors.New("the message was not sealed for this certificate")

// seal gives purpose-bound bytes that only the holder of to's key can read.
func (id *Identity) seal(purpose string, to *x509.Certificate, plain []byte) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("seal message: %w", err) }
	if err := id.revoked.check(to); err != nil {
		return fail(err)
	}
	public, ok := to.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return fail(errors.New("the other side's key is no ECDSA key"))
	}
	point, err := public.ECDH()
	if err != nil {
		return fail(err)
	}
	key, err := hpke.NewDHKEMPublicKey(point)
	if err != nil {
		return fail(err)
	}
	box, err := hpke.Seal(key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), plain)
	if err != nil {
		return fail(err)
	}
	signature, err := id.signature(purpose, box)
	if err != nil {
		return fail(err)
	}
	return frame(id.cert.Raw, signature, box), nil
}

func (id *Identity) signature(purpose string, of []byte) ([]byte, error) {
	return ecdsa.SignASN1(rand.Reader, id.key, digest(purpose, of))
}

func checkSignature(from *x509.Certificate, purpose string, of, signature []byte) error {
	public, ok := from.PublicKey.(*ecdsa.PublicKey)
	if !ok || !ecdsa.VerifyASN1(public, digest(purpose, of), signature) {
		return fmt.Errorf("%w: the signature of %q does not fit this message", farm.ErrRefused, from.Subject.CommonName)
	}
	return nil
}

// open checks who sealed a message and reads it.
func (id *Identity) open(purpose string, message []byte, role, dns string, now time.Time) (plain []byte, from *x509.Certificate, err error) {
	box, from, err := id.signed(purpose, message, role, dns, now)
	if err != nil {
		return nil, nil, err
	}
	private, err := id.key.ECDH()
	if err != nil {
		return nil, nil, fmt.Errorf("open message: %w", err)
	}
	key, err := hpke.NewDHKEMPrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("open message: %w", err)
	}
	if plain, err = hpke.Open(key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), box); err != nil {
		return nil, nil, errSealed
	}
	return plain, from, nil
}

func digest(purpose string, box []byte) []byte {
	h := sha256.New()
	h.Write(frame([]byte("stowage seal 1"), []byte(purpose), box))
	return h.Sum(nil)
}

// frame joins parts, each behind its length of four bytes.
func frame(parts ...[]byte) []byte {
	var out bytes.Buffer
	for _, p := range parts {
		_ = binary.Write(&out, binary.BigEndian, uint32(len(p))) // to memory
		out.Write(p)
	}
	return out.Bytes()
}

func unframe(raw []byte, n int) ([][]byte, error) {
	var parts [][]byte
	for len(raw) >= 4 && len(parts) < n {
		size := binary.BigEndian.Uint32(raw)
		if raw = raw[4:]; uint64(size) > uint64(len(raw)) {
			break
		}
		parts, raw = append(parts, raw[:size]), raw[size:]
	}
	if len(parts) != n || len(raw) != 0 {
		return nil, fmt.Errorf("%w: a message of another form", farm.ErrRefused)
	}
	return parts, nil
}
