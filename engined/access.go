package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
)

// files are the certificates of an engine that other machines reach. All or
// none of them are given; without them it listens on loopback only.
type files struct {
	cert, key, ca string
}

func (f files) given() bool { return f != files{} }

func (f files) check() error {
	if f.given() && (f.cert == "" || f.key == "" || f.ca == "") {
		return errors.New("--tls-cert, --tls-key and --tls-ca go together")
	}
	return nil
}

// server is what the frontend asks of whoever connects: a certificate of the
// farm's own authority.
func (f files) server() config.RootTLS {
	if !f.given() {
		return config.RootTLS{}
	}
	return config.RootTLS{Frontend: config.GroupTLS{
		Server: config.ServerTLS{CertFile: f.cert, KeyFile: f.key, ClientCAFiles: []string{f.ca}, RequireClientAuth: true},
		Client: config.ClientTLS{ServerName: engineName, RootCAFiles: []string{f.ca}},
	}}
}

// engineName is what the engine's own certificate is valid for, whatever
// address it listens on (package agent makes it).
const engineName = "engine.stowage"

// client is how this process looks at its own frontend.
func (f files) client() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	pem, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read authority %s: no certificate in it", f.ca)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: engineName}, nil
}

// The roles of certificates, in their organisational unit.
const (
	roleController = "controller"
	roleEngine     = "engine"
	roleHost       = "host"
)

// claims reads role and name from a certificate. On loopback, without
// certificates, everybody may do everything: who is on this machine as this
// user could read the file just as well.
type claims struct{ certified bool }

func (c claims) AuthInfoRequired() bool { return c.certified }

func (c claims) GetClaims(about *authorization.AuthInfo) (*authorization.Claims, error) {
	if !c.certified {
		return &authorization.Claims{System: authorization.RoleAdmin}, nil
	}
	if about == nil || about.TLSSubject == nil || len(about.TLSSubject.OrganizationalUnit) != 1 {
		return &authorization.Claims{}, nil
	}
	return &authorization.Claims{Subject: about.TLSSubject.CommonName, Extensions: about.TLSSubject.OrganizationalUnit[0]}, nil
}

// access lets controllers do everything, and a host no more than take what
// waits on its own queue and answer it: somebody who has broken into one
// database host must not command the others through the engine.
type access struct{ certified bool }

// hostCalls are what a worker of activities needs, by name.
var hostCalls = []string{
	"GetSystemInfo", "GetClusterInfo", "DescribeNamespace", "PollActivityTaskQueue", "ShutdownWorker",
	"RespondActivityTaskCompleted", "RespondActivityTaskFailed", "RespondActivityTaskCanceled", "RecordActivityTaskHeartbeat",
}

func (a access) Authorize(_ context.Context, c *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	allow, deny := authorization.Result{Decision: authorization.DecisionAllow}, authorization.Result{Decision: authorization.DecisionDeny}
	if !a.certified || strings.HasPrefix(target.APIName, "/grpc.health.v1.") {
		return allow, nil
	}
	if c == nil {
		return deny, nil
	}
	if c.System == authorization.RoleAdmin {
		return allow, nil
	}
	switch role, _ := c.Extensions.(string); role {
	case roleController, roleEngine:
		return allow, nil
	case roleHost:
		name := target.APIName[strings.LastIndex(target.APIName, "/")+1:]
		if !slices.Contains(hostCalls, name) {
			return deny, nil
		}
		if poll, ok := target.Request.(*workflowservice.PollActivityTaskQueueRequest); ok && poll.GetTaskQueue().GetName() != "host."+c.Subject {
			deny.Reason = "a host serves its own queue only"
			return deny, nil
		}
		return allow, nil
	}
	return deny, nil
}

// loopbackOnly refuses an address that others reach, unless they must show a
// certificate there.
func loopbackOnly(host string, certified bool) error {
	if host == "localhost" {
		return nil
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() {
		return fmt.Errorf("%q is no IP address of this machine", host)
	}
	if ip.IsLoopback() || certified {
		return nil
	}
	return errors.New("without certificates only loopback is allowed: anybody who reaches it could move the farm (--tls-cert, --tls-key, --tls-ca)")
}
