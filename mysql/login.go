package mysql

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"stowage/farm"
)

// login is a connection whose first packets, up to the server's OK, are read
// and judged before a driver sees them. A driver answers whatever a server
// asks: with the password encrypted by a key that this server has just sent,
// with the password itself where it believes the connection to be safe. Here it
// is decided who gets what:
//
//   - TLS, where there is a CA, before anything of the account is sent; a
//     server that does not offer it is refused.
//   - Answers that prove knowledge of the password without containing it are
//     the driver's business: mysql_native_password, client_ed25519, and the
//     first answer of caching_sha2_password.
//   - The password itself (sha256_password, the second answer of
//     caching_sha2_password) is sent from here, within verified TLS or encrypted
//     by the key that accounts.cnf pins. A driver never sends it.
//   - Everything else is refused: clear text, dialog, the hash of MySQL 3.23,
//     what is not known.
//
// A driver believes to speak without TLS, so what counts packets or bytes above
// it (wire) sees them in the clear.
//
// Source of the formats: MySQL internals, "Connection Phase Packets".
type login struct {
	net.Conn          // the socket; after the handshake of TLS, that
	raw      net.Conn // the socket
	account  Account
	address  string
	told     *refusal

	in     []byte // for the driver, not yet read by it
	out    []byte // of the driver, not yet a whole packet
	state  loginState
	shift  byte   // packets that the server has sent or got and the driver has not
	plugin string // that answers now
	nonce  []byte // of the server
	asked  int    // packets of the server
}

type loginState byte

const (
	atGreeting loginState = iota // the server has not said anything
	atResponse                   // the driver's first answer comes next
	atVerdict                    // the server decides
	loggedIn                     // or refused: bytes go through
)

// refusal keeps why a login was refused: the drivers make "invalid connection"
// of every error of a connection.
type refusal struct{ err error }

type refusalKey struct{}

// withRefusal is a context in which a connection leaves its refusal.
func withRefusal(ctx context.Context) (context.Context, *refusal) {
	r := &refusal{}
	return context.WithValue(ctx, refusalKey{}, r), r
}

// dial opens the socket. The login begins with the first read.
func (a Account) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 3 * time.Second}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	told, _ := ctx.Value(refusalKey{}).(*refusal)
	if told == nil {
		told = &refusal{}
	}
	return &login{Conn: conn, raw: conn, account: a, address: address, told: told}, nil
}

// SyscallConn lets the driver ask whether the other end of a pooled connection
// has gone.
func (l *login) SyscallConn() (syscall.RawConn, error) {
	if c, ok := l.raw.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Read implements net.Conn.
func (l *login) Read(p []byte) (int, error) {
	for len(l.in) == 0 && l.state != loggedIn {
		if err := l.next(); err != nil {
			return 0, l.fail(err)
		}
	}
	if len(l.in) > 0 {
		n := copy(p, l.in)
		l.in = l.in[n:]
		return n, nil
	}
	return l.Conn.Read(p)
}

// Write implements net.Conn.
func (l *login) Write(p []byte) (int, error) {
	if l.state == loggedIn {
		return l.Conn.Write(p)
	}
	l.out = append(l.out, p...)
	for len(l.out) >= 4 {
		size := 4 + bodySize(l.out)
		if len(l.out) < size {
			break
		}
		packet := slices.Clone(l.out[4:size])
		sequence := l.out[3]
		l.out = l.out[size:]
		if err := l.answer(packet, sequence); err != nil {
			return 0, l.fail(err)
		}
	}
	return len(p), nil
}

// fail keeps the first cause that is more than a lost connection. Nothing is
// sent any more.
func (l *login) fail(err error) error {
	var alert tls.AlertError
	if errors.As(err, &alert) {
		err = &farm.Error{Op: "TLS", Subject: l.address, Err: err, Hint: "the server did not accept our certificate: ssl-cert and ssl-key in the accounts file"}
	}
	var ours *farm.Error
	if l.told.err == nil && errors.As(err, &ours) {
		l.told.err = err
	}
	_ = l.Conn.Close()
	return err
}

// longestLogin bounds what a server may say before it has let us in.
const (
	longestLogin = 64 << 10
	mostPackets  = 8
)

// next reads a packet of the server, and answers it or puts it before the driver.
func (l *login) next() error {
	if l.asked++; l.asked > mostPackets {
		return l.refuse("the server goes on asking")
	}
	var head [4]byte
	if _, err := io.ReadFull(l.Conn, head[:]); err != nil {
		return err
	}
	size := bodySize(head[:])
	if size == 0 || size > longestLogin {
		return l.refuse(fmt.Sprintf("a packet of %d bytes during the login", size))
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(l.Conn, body); err != nil {
		return err
	}
	switch {
	case body[0] == 0xff: // an error: the end
		l.state = loggedIn
		l.forward(body, head[3])
		return nil
	case l.state == atGreeting:
		return l.greeted(body, head[3])
	case l.state == atResponse:
		return l.refuse("the server answered before it was asked")
	}
	switch body[0] {
	case 0x00:
		l.state = loggedIn
		l.forward(body, head[3])
		return nil
	case 0xfe:
		return l.switched(body, head[3])
	case 0x01:
		return l.more(body, head[3])
	case 0xfb:
		return l.refuse("the server asked for a file of this machine")
	}
	return l.refuse(fmt.Sprintf("an unknown packet (0x%02x) during the login", body[0]))
}

func (l *login) forward(body []byte, sequence byte) {
	l.in = append(l.in, packed(body, sequence-l.shift)...)
}

const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
	sha256Password = "sha256_password"
	ed25519        = "client_ed25519"

	canTLS     = 1 << 11 // bits of the capabilities
	canPlugins = 1 << 19
)

// greeted reads the greeting: version, connection, 8 bytes of nonce, 0, the
// lower capabilities, character set, status, the upper ones, the length of the
// nonce, 10 bytes, its rest, the plugin. A driver that knows the plugin would
// answer to it at once; any but the two harmless ones becomes the old default,
// and the server then names the plugin of the account.
func (l *login) greeted(body []byte, sequence byte) error {
	if body[0] != 10 {
		return l.refuse(fmt.Sprintf("protocol version %d, want 10", body[0]))
	}
	end := bytes.IndexByte(body, 0)
	at := end + 1 + 4
	if end < 0 || len(body) < at+9+2+1+2+2+1+10+13 {
		return l.refuse("the greeting is too short")
	}
	capabilities := uint32(binary.LittleEndian.Uint16(body[at+9:])) | uint32(binary.LittleEndian.Uint16(body[at+14:]))<<16
	if capabilities&canPlugins == 0 {
		return l.refuse("the server knows no plugins: it is older than MySQL 5.5.7")
	}
	if l.account.TLS != nil && capabilities&canTLS == 0 {
		return l.refuse("the server does not offer TLS, and ssl-ca asks for it")
	}
	rest := at + 9 + 2 + 1 + 2 + 2 + 1 + 10
	l.nonce = append(slices.Clone(body[at:at+8]), body[rest:rest+12]...)
	l.plugin = nativePassword
	if name, _, _ := bytes.Cut(body[rest+13:], []byte{0}); string(name) == cachingSHA2 {
		l.plugin = cachingSHA2
	}
	whole := append(slices.Clone(body[:rest+12]), 0)
	whole[rest-11] = 21 // as long as the nonce here is
	whole = append(append(whole, l.plugin...), 0)
	l.state = atResponse
	l.forward(whole, sequence)
	return nil
}

// answer sends a packet of the driver.
func (l *login) answer(body []byte, sequence byte) error {
	switch l.state {
	case atGreeting:
		return l.refuse("an answer before the greeting")
	case atResponse:
		if len(body) < 32 {
			return l.refuse("an answer that is too short")
		}
		if l.account.TLS != nil {
			if err := l.encrypt(body, sequence); err != nil {
				return err
			}
		}
		l.state = atVerdict
	}
	_, err := l.Conn.Write(packed(body, sequence+l.shift))
	return err
}

// encrypt asks for TLS with the first 32 bytes of the driver's answer, in which
// nothing of the account stands, and shakes hands.
func (l *login) encrypt(body []byte, sequence byte) error {
	binary.LittleEndian.PutUint32(body, binary.LittleEndian.Uint32(body)|canTLS)
	if _, err := l.raw.Write(packed(body[:32], sequence)); err != nil {
		return err
	}
	config, err := l.account.TLS.config(hostOf(l.address))
	if err != nil {
		return err
	}
	secure := tls.Client(l.raw, config)
	if err := secure.Handshake(); err != nil {
		return &farm.Error{Op: "TLS handshake", Subject: l.address, Err: err, Hint: hintForTLS(err)}
	}
	l.Conn = secure
	l.shift++
	return nil
}

// switched: the server wants another plugin to answer.
func (l *login) switched(body []byte, sequence byte) error {
	name, data, _ := bytes.Cut(body[1:], []byte{0})
	data = bytes.TrimSuffix(data, []byte{0})
	l.plugin, l.nonce = string(name), slices.Clone(data)
	switch l.plugin {
	case nativePassword, cachingSHA2:
		if len(data) != 20 {
			return l.refuse(fmt.Sprintf("a nonce of %d bytes for %s", len(data), l.plugin))
		}
		l.forward(body, sequence)
		return nil
	case ed25519:
		l.forward(body, sequence)
		return nil
	case sha256Password:
		return l.sendPassword(sequence)
	case "":
		return l.refuse("the server asks for the hash of mysql_old_password, which is equal to the password")
	}
	return l.refuse(fmt.Sprintf("the server asks for the password by %s, which Stowage does not answer", shown(l.plugin)))
}

const (
	fastDone = 3 // caching_sha2_password: the first answer was enough
	wantsAll = 4 // it was not: the password
)

// more is a further packet of a plugin. The key of a server that offers one is
// never taken: what is encrypted by it is the server's to read.
func (l *login) more(body []byte, sequence byte) error {
	switch {
	case l.plugin == cachingSHA2 && len(body) == 2 && body[1] == fastDone:
		l.forward(body, sequence)
		return nil
	case l.plugin == cachingSHA2 && len(body) == 2 && body[1] == wantsAll:
		return l.sendPassword(sequence)
	}
	return l.refuse("the server sent " + shown(l.plugin) + " what its plugin never sends, or a key of its own")
}

// sendPassword answers in the driver's place, which sees neither question nor answer.
func (l *login) sendPassword(sequence byte) error {
	answer := append([]byte(l.account.Password), 0)
	if _, secure := l.Conn.(*tls.Conn); !secure {
		if l.account.PublicKey == "" {
			return l.refuse("the server asks for the password by " + l.plugin + " without TLS")
		}
		key, err := rsaKey(l.account.PublicKey)
		if err != nil {
			return err
		}
		if len(l.nonce) == 0 {
			return l.refuse("the server sent no nonce for " + l.plugin)
		}
		for i := range answer {
			answer[i] ^= l.nonce[i%len(l.nonce)]
		}
		if answer, err = rsa.EncryptOAEP(sha1.New(), rand.Reader, key, answer, nil); err != nil {
			return err
		}
	}
	l.shift += 2
	_, err := l.Conn.Write(packed(answer, sequence+1))
	return err
}

// ErrUntrusted: a server asked for more than it may learn.
var ErrUntrusted = errors.New("refused to log in, the password was not sent")

func (l *login) refuse(why string) error {
	hint := "is this the server that is meant? If it is, let it speak TLS and name its CA in the accounts file: ssl-ca=FILE"
	if l.account.TLS == nil {
		hint += "; or pin its RSA key: server-public-key-path=FILE; or give the account another plugin"
	}
	return &farm.Error{Op: "log in", Subject: l.address, Err: fmt.Errorf("%w: %s", ErrUntrusted, why), Hint: hint}
}

// shown is a name that a server sent.
func shown(name string) string { return fmt.Sprintf("%.40q", name) }

func bodySize(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

func packed(body []byte, sequence byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), sequence}, body...)
}
