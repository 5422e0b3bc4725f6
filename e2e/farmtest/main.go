package farmtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// farmsAtOnce is how many tests of a package that call t.Parallel run at once.
// Each has a farm of two to four servers (some 300 MB) and mostly waits for
// them, so there are more than cores.
const farmsAtOnce = "6"

// Main is the TestMain of a package of live tests: tests find the engine, and
// AsNobody its attacker.
func Main(m *testing.M) {
	if addresses := os.Getenv(attackAddresses); addresses != "" {
		os.Exit(playNobody(strings.Fields(addresses), strings.Fields(os.Getenv(attackFiles))))
	}
	refuseToBeTheProgram()
	_ = flag.Set("test.parallel", farmsAtOnce) // unless -parallel says otherwise
	_ = os.Setenv("PATH", filepath.Join(rootDir(), "bin")+":"+os.Getenv("PATH"))
	os.Exit(m.Run())
}

// refuseToBeTheProgram ends a test binary that somebody runs as if it were
// stowage: it would run its tests again, which would run it again, and so on
// until nothing can be started on this machine any more.
func refuseToBeTheProgram() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintf(os.Stderr, "%s is a test, not the program: run farmtest.LiveProgram\n", filepath.Base(os.Args[0]))
		os.Exit(2)
	}
}
