// Package vault keeps streams in restic repositories behind real servers:
// an sshd, restic's rest-server, and one that speaks S3.
package vault

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/vault/vaulttest"
)

func TestMain(m *testing.M) {
	vaulttest.Child()
	farmtest.Main(m)
}
