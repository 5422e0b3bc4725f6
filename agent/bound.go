package agent

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// ErrForged: what came back for a call is not what the host's agent answered to
// this call. Nobody knows whether the call was carried out: its agent is told
// with the next call to end it, and a step reads the state before it does more.
var ErrForged = errors.New("a forged or foreign answer, which says nothing about what the host did")

// bound is what an answer is about: this call, of this program, for this attempt
// of this step. It is in the answer, which the host has signed.
type bound struct {
	Host  farm.HostName `json:"host"`
	ID    string        `json:"id"`
	Call  string        `json:"call"`
	Asker string        `json:"asker"`
	Term  int64         `json:"term"`
	For   string        `json:"for,omitempty"`
}

// String is for the log: both calls, in the same words.
func (b bound) String() string {
	text := fmt.Sprintf("call %q to host %q (id %q, asked by %q, term %d", b.Call, b.Host, b.ID, b.Asker, b.Term)
	if b.For != "" {
		text += fmt.Sprintf(", for step %q", b.For)
	}
	return text + ")"
}

func (q request) bound(h farm.HostName, id string) bound {
	return bound{h, id, q.Call, q.Asker, q.Term, q.For}
}

// What an agent says about a call that it could not read, before its signature:
// it knows nobody to seal it for.
const (
	notTaken = "not taken\n"            // and why
	renewed  = "for another identity\n" // it was sealed for another certificate, one before a renewal
)

// plainly signs what is not sealed. kind is one of the above.
func (a *Agent) plainly(kind, id, text string) ([]byte, error) {
	raw, err := a.o.Identity.sign(plainPurpose(kind, a.o.Host, id), []byte(text))
	return append([]byte(kind), raw...), err
}

func plainPurpose(kind string, h farm.HostName, id string) string {
	return fmt.Sprintf("%s %s %s", bytes.TrimSpace([]byte(kind)), h, id)
}

// said reads such an answer of a host; ok: it is one, and the host has signed it.
func (id *Identity) said(kind string, h farm.HostName, call string, raw []byte, now time.Time) (text string, ok bool, err error) {
	signed, is := bytes.CutPrefix(raw, []byte(kind))
	if !is {
		return "", false, nil
	}
	plain, _, err := id.signed(plainPurpose(kind, h, call), signed, RoleHost, HostDNS(h), now)
	return string(plain), err == nil, err
}

// forgery is what it means that an answer does not verify. A certificate that is
// revoked, or has ended, is the host's own.
func forgery(err error) error {
	if err == nil {
		return nil
	}
	var revoked *farm.Error
	var invalid x509.CertificateInvalidError
	if errors.As(err, &revoked) || errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return err
	}
	return fmt.Errorf("%w: %v", ErrForged, err) // no refusal of the host's: trying again may reach it
}

// unbind reads an answer to q, and refuses every other.
func (id *Identity) unbind(q request, h farm.HostName, call string, raw []byte, now time.Time) (out answer, err error) {
	if text, ok, err := id.said(notTaken, h, call, raw, now); ok || err != nil {
		if err != nil {
			return out, forgery(err)
		}
		return out, fmt.Errorf("%w: the agent did not take the call: %s", farm.ErrRefused, text)
	}
	plain, _, err := id.open(answerPurpose(h, call), raw, RoleHost, HostDNS(h), now)
	if err == nil {
		err = nested.Unmarshal(plain, &out)
	}
	if err != nil {
		return answer{}, forgery(err)
	}
	if want := q.bound(h, call); out.Of != want {
		return answer{}, fmt.Errorf("%w: it answers %s, and this call is %s", ErrForged, out.Of, want)
	}
	return out, nil
}

// sign gives bytes with their sender's certificate and signature. They can be
// read by all.
func (id *Identity) sign(purpose string, plain []byte) ([]byte, error) {
	signature, err := id.signature(purpose, plain)
	if err != nil {
		return nil, fmt.Errorf("sign message: %w", err)
	}
	return frame(id.cert.Raw, signature, plain), nil
}

// signed checks who signed a message, for this purpose.
func (id *Identity) signed(purpose string, message []byte, role, dns string, now time.Time) (plain []byte, from *x509.Certificate, err error) {
	parts, err := unframe(message, 3)
	if err != nil {
		return nil, nil, err
	}
	der, signature, plain := parts[0], parts[1], parts[2]
	if from, err = id.verify(der, role, dns, now); err != nil {
		return nil, nil, err
	}
	if err := checkSignature(from, purpose, plain, signature); err != nil {
		return nil, nil, err
	}
	return plain, from, nil
}
