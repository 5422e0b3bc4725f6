package main

import (
	"strings"
	"testing"
	"time"

	"stowage/agent"
)

// A certificate that ends soon is spoken of where people look, with the days
// that are left and the command; one that lasts is not.
func TestCertificatesThatEndSoonAreSpokenOf(t *testing.T) {
	now := time.Now()
	for name, x := range map[string]struct {
		left          time.Duration
		status, certs string
	}{
		"a year":    {365*24*time.Hour + time.Hour, "(365 days)", ""},
		"12 days":   {12*24*time.Hour + time.Hour, "(12 days)  EXPIRES SOON: stowage agent certs --renew db001", "expires in 12 days: stowage agent certs --renew"},
		"yesterday": {-24 * time.Hour, "EXPIRES SOON", "EXPIRED: stowage agent certs --renew"},
	} {
		var status, certs strings.Builder
		ends := now.Add(x.left)
		err := printAgents(&status, []agentState{{Meeting: agent.Meeting{Host: "db001", Version: "v", Address: "a:1", Expires: ends}, DaysLeft: days(x.left)}})
		if err != nil || !strings.Contains(status.String(), x.status) || (x.certs == "") == strings.Contains(status.String(), "SOON") {
			t.Errorf("%s: status says %q, %v", name, status.String(), err)
		}
		err = certsSummary{Certificates: []hostCertificate{{Issued: agent.Issued{Role: agent.RoleHost, Name: "db001", Expires: ends, Left: x.left}}}}.text(&certs)
		if err != nil || !strings.Contains(certs.String(), x.certs) || x.certs == "" && strings.Contains(certs.String(), "--renew") {
			t.Errorf("%s: certs says %q, %v", name, certs.String(), err)
		}
	}
}
