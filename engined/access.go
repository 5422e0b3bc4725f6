package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"

	"go.temporal.io/server/common/authorization"
)

// The roles of certificates, in their organisational unit.
const (
	roleController = "controller"
	roleEngine     = "engine"
	roleHost       = "host"
)

// caller is who is behind a connection, as its certificate says.
type caller struct{ role, name string }

// queue is the one task queue that a host serves.
func (c caller) queue() string { return "host." + c.name }

// claims reads the caller from a certificate. One that is revoked says nothing, also on a connection that was made before.
type claims struct{ revoked *revoked }

func (c claims) GetClaims(about *authorization.AuthInfo) (*authorization.Claims, error) {
	if about == nil {
		return &authorization.Claims{}, nil
	}
	cert := authorization.PeerCert(about.TLSConnection)
	if cert == nil || c.revoked.has(cert) {
		return &authorization.Claims{}, nil
	}
	who := callerOf(cert)
	return &authorization.Claims{Subject: who.name, Extensions: who}, nil
}

func callerOf(cert *x509.Certificate) caller {
	if len(cert.Subject.OrganizationalUnit) != 1 {
		return caller{}
	}
	return caller{cert.Subject.OrganizationalUnit[0], cert.Subject.CommonName}
}

// callerIn is who makes the call of ctx; the zero caller is nobody.
func callerIn(ctx context.Context) caller {
	c, _ := ctx.Value(authorization.MappedClaims).(*authorization.Claims)
	if c == nil {
		return caller{}
	}
	who, _ := c.Extensions.(caller)
	return who
}

// access lets controllers do everything, and a host no more than take what waits on its own queue and answer that: somebody who has
// broken into one database host must not speak for another through the engine. Which answers are its own is for tokens to say.
type access struct{ namespace string }

func (a access) Authorize(_ context.Context, c *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	allow, deny := authorization.Result{Decision: authorization.DecisionAllow}, authorization.Result{Decision: authorization.DecisionDeny}
	if c == nil {
		return deny, nil
	}
	who, _ := c.Extensions.(caller)
	switch who.role {
	case roleController, roleEngine:
		return allow, nil
	case roleHost:
		may, known := hostCalls[target.APIName]
		if !known || who.name == "" {
			return deny, nil
		}
		if deny.Reason = may(who, a.namespace, target.Request); deny.Reason == "" {
			return allow, nil
		}
	}
	return deny, nil
}

// addressOf refuses an address that is no particular one of this machine.
func addressOf(host string) (string, error) {
	if host == "localhost" {
		return "127.0.0.1", nil
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		return "", fmt.Errorf("%q is not an IP address of this machine", host)
	}
	return host, nil
}
