package attack

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rogue is a server that speaks the protocol as far as an attacker needs: it
// sends what its script says, and keeps every byte that it gets.
type rogue struct {
	address  string
	key      *rsa.PrivateKey
	friendly int32                // so many logins succeed before the script begins
	script   func(*session) error // after the TCP connection
	certs    *tls.Config          // nil: it claims not to speak TLS

	logins atomic.Int32
	mu     sync.Mutex
	raw    bytes.Buffer // as it came
	got    [][]byte     // packets, decrypted where it got TLS to work
}

// session is one connection. What it reads and writes is packets.
type session struct {
	net.Conn
	r        *rogue
	sequence byte
}

var rogueKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

var rogueNonce = []byte("01234567890123456789")

func startRogue(t *testing.T, script func(*session) error) *rogue {
	t.Helper()
	key, err := rogueKey()
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &rogue{address: listener.Addr().String(), key: key, script: script}
	var open sync.WaitGroup
	t.Cleanup(func() { listener.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				s := &session{Conn: recorded{conn, r}, r: r}
				if r.logins.Add(1) <= r.friendly {
					_ = s.obliging()
					return
				}
				_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // both may wait for each other
				if r.script(s) == nil {
					_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
					_, _ = io.Copy(io.Discard, s.Conn) // whatever else the client says
				}
			})
		}
	})
	return r
}

// recorded keeps what comes over a connection.
type recorded struct {
	net.Conn
	r *rogue
}

func (c recorded) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.r.mu.Lock()
	c.r.raw.Write(p[:n])
	c.r.mu.Unlock()
	return n, err
}

func (s *session) send(body ...byte) error {
	head := []byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), s.sequence}
	s.sequence++
	_, err := s.Write(append(head, body...))
	return err
}

func (s *session) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.Conn, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(s.Conn, body); err != nil {
		return nil, err
	}
	s.sequence = head[3] + 1
	s.r.mu.Lock()
	s.r.got = append(s.r.got, body)
	s.r.mu.Unlock()
	return body, nil
}

// greet sends a greeting with a plugin and reads the answer, through TLS where
// the client asks for it and the rogue has a certificate.
func (s *session) greet(plugin string) ([]byte, error) {
	const all = 1<<0 | 1<<3 | 1<<7 | 1<<9 | 1<<13 | 1<<15 | 1<<16 | 1<<17 | 1<<19 | 1<<21 // LOCAL INFILE among them
	capabilities := uint32(all)
	if s.r.certs != nil {
		capabilities |= 1 << 11
	}
	b := append([]byte{10}, "10.11.19-MariaDB\x00"...)
	b = binary.LittleEndian.AppendUint32(b, 7)
	b = append(append(b, rogueNonce[:8]...), 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(capabilities))
	b = append(b, 45, 2, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(capabilities>>16))
	b = append(b, 21)
	b = append(b, make([]byte, 10)...)
	b = append(append(b, rogueNonce[8:]...), 0)
	if err := s.send(append(append(b, plugin...), 0)...); err != nil {
		return nil, err
	}
	answer, err := s.receive()
	if err != nil || len(answer) != 32 || s.r.certs == nil {
		return answer, err
	}
	secure := tls.Server(s.Conn, s.r.certs)
	if err := secure.Handshake(); err != nil {
		return nil, err
	}
	s.Conn = secure
	return s.receive()
}

// change asks for another plugin and reads what it answers.
func (s *session) change(plugin string, data ...byte) ([]byte, error) {
	if err := s.send(append(append([]byte{0xfe}, plugin+"\x00"...), data...)...); err != nil {
		return nil, err
	}
	return s.receive()
}

// offerKey sends the rogue's own key and reads the password.
func (s *session) offerKey() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&s.r.key.PublicKey)
	if err != nil {
		return nil, err
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if err := s.send(append([]byte{1}, key...)...); err != nil {
		return nil, err
	}
	return s.receive()
}

func (s *session) ok() error { return s.send(0, 0, 0, 2, 0, 0, 0) }

// obliging lets everybody in, and answers every SELECT with one version.
func (s *session) obliging() error {
	if _, err := s.greet("mysql_native_password"); err != nil {
		return err
	}
	return errors.Join(s.ok(), s.serve(nil))
}

// serve answers statements; instead, where it is given, all of them.
func (s *session) serve(instead func() error) error {
	for {
		q, err := s.receive()
		if err != nil || len(q) == 0 || q[0] == 1 {
			return err
		}
		switch {
		case instead != nil:
			err = instead()
		case bytes.HasPrefix(bytes.ToUpper(q[1:]), []byte("SELECT")):
			const version = "10.11.19-MariaDB"
			err = errors.Join(s.send(1),
				s.send([]byte("\x03def\x00\x00\x00\x01v\x00\x0c\x2d\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00")...),
				s.send(0xfe, 0, 0, 2, 0),
				s.send(append([]byte{byte(len(version))}, version...)...),
				s.send(0xfe, 0, 0, 2, 0))
		default:
			err = s.ok()
		}
		if err != nil {
			return err
		}
	}
}

// heard is all that came, as it came and as packets.
func (r *rogue) heard() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Insert(slices.Clone(r.got), 0, bytes.Clone(r.raw.Bytes()))
}

// knows reports how the rogue has learned a password: as it is, or by its key.
func (r *rogue) knows(password string) string {
	hash := sha1.Sum([]byte(password)) // what logs in to every server with the same native password
	for n, b := range r.heard() {
		if bytes.Contains(b, []byte(password)) {
			return "in the clear"
		}
		if bytes.Contains(b, hash[:]) {
			return "as a hash"
		}
		// Wherever in a packet it stands.
		for at := 0; n > 0 && at+r.key.Size() <= len(b); at++ {
			plain, err := rsa.DecryptOAEP(sha1.New(), nil, r.key, b[at:at+r.key.Size()], nil)
			if err != nil {
				continue
			}
			for i := range plain {
				plain[i] ^= rogueNonce[i%len(rogueNonce)]
			}
			if bytes.Contains(plain, []byte(password)) {
				return "under the rogue's key"
			}
			return "something under the rogue's key"
		}
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
