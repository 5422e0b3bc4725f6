package packages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"stowage/internal/turns"
)

func contextOf() context.Context { return context.Background() }

// asks is a postinst that writes down whether it may restart its service.
const asks = "if [ -e /usr/sbin/policy-rc.d ]; then /usr/sbin/policy-rc.d tinyd restart; echo $? >> /tiny.log; else echo none >> /tiny.log; fi"

// family is a server and what was built from its source, in two versions.
var family = []tiny{
	{"tinyd", "1.0.1-1", "tiny", "Depends: tiny-common (= 1.0.1-1)", asks}, {"tiny-common", "1.0.1-1", "tiny", "", ""},
	{"tinyd", "1.0.2-1", "tiny", "Depends: tiny-common (= 1.0.2-1)", asks}, {"tiny-common", "1.0.2-1", "tiny", "", ""},
}

// What was built from the same source goes along, no service may be started meanwhile, and the policy of somebody else is the same file afterwards.
func TestPackagesGoThereAndBack(t *testing.T) {
	turns.One(t, 6)
	clean(t)
	offer(t, family...)
	install(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1")
	sh(t, "rm /tiny.log; printf '#!/bin/sh\nexit 0' > /etc/policy; chmod 755 /etc/policy; ln -s /etc/policy /usr/sbin/policy-rc.d")
	was := sh(t, "stat -c '%i %N' /usr/sbin/policy-rc.d*")
	a := &Apt{Out: os.Stdout}
	r, err := a.Look(t.Context(), parsed(t, "tinyd=1.0.2-1"), true, nil)
	if err != nil || len(r.Faults) > 0 || fmt.Sprint(r.Set) != "[{tiny-common 1.0.1-1 1.0.2-1} {tinyd 1.0.1-1 1.0.2-1}]" || r.IsDone() {
		t.Fatalf("%+v %v", r, err)
	}
	read, err := ReadReport(r.Encode())
	if err != nil || fmt.Sprint(read) != fmt.Sprint(r) {
		t.Errorf("%+v %v", read, err)
	}
	for _, pins := range []struct {
		name string
		to   Report
	}{{"there", r}, {"back", Report{Set: []Change{{"tiny-common", "1.0.2-1", "1.0.1-1"}, {"tinyd", "1.0.2-1", "1.0.1-1"}}}}} {
		if err := a.Fetch(pins.to.Goal()); err != nil {
			t.Fatal(err)
		}
		if err := a.Install(t.Context(), pins.to.Goal()); err != nil {
			t.Fatalf("%s: %v", pins.name, err)
		}
		if err := a.Settle(t.Context(), pins.to.Goal()); err != nil {
			t.Errorf("%s: %v", pins.name, err)
		}
		if err := a.Settle(t.Context(), pins.to.Before()); err == nil {
			t.Errorf("%s: the packages of before are said to be there, too", pins.name)
		}
	}
	if got := sh(t, "cat /tiny.log"); got != "101\n101" {
		t.Errorf("the package might restart its service: %q", got)
	}
	if is := sh(t, "stat -c '%i %N' /usr/sbin/policy-rc.d*"); is != was {
		t.Errorf("policy-rc.d is %s, was %s", is, was)
	}
}

// A package that does not configure itself: said so, the policy is gone, and the packages of before can be installed over it.
func TestPackageThatFails(t *testing.T) {
	turns.One(t, 8)
	clean(t)
	offer(t, append(family, tiny{"tinyd", "1.0.3-1", "tiny", "Depends: tiny-common (= 1.0.3-1)", "exit 1"}, tiny{"tiny-common", "1.0.3-1", "tiny", "", ""})...)
	install(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1")
	a := &Apt{Out: os.Stdout}
	if err := a.Install(t.Context(), parsed(t, "tinyd=1.0.3-1", "tiny-common=1.0.3-1")); err == nil {
		t.Error("it did not fail")
	}
	if err := a.areThere(t.Context(), parsed(t, "tinyd=1.0.3-1")); err == nil || !strings.Contains(err.Error(), "only half installed") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(policyFile); err == nil {
		t.Error("the policy is left")
	}
	if err := a.Install(t.Context(), parsed(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1")); err != nil {
		t.Errorf("the way back: %v", err)
	}
}

// What keeps packages from being installed is found, and nothing changes.
func TestLookFinds(t *testing.T) {
	turns.One(t, 8)
	all := append(family,
		tiny{"tinyd", "1.0.3-1", "tiny", "Depends: tiny-common (= 1.0.3-1), other (>= 2)", ""}, tiny{"tiny-common", "1.0.3-1", "tiny", "", ""},
		tiny{"tinyd", "1.0.4-1", "tiny", "Depends: nowhere", ""}, tiny{"tiny-common", "1.0.4-1", "tiny", "", ""},
		tiny{"tinyd", "1.0.5-1", "tiny", "Conflicts: other", ""}, tiny{"tiny-common", "1.0.5-1", "tiny", "", ""},
		tiny{"tinyd", "1.0.6-1", "tiny", "Depends: fresh", ""}, tiny{"tiny-common", "1.0.6-1", "tiny", "", ""}, tiny{"fresh", "1", "", "", ""},
		tiny{"tinyd", "1.0.8-1", "tiny", "Depends: newer", ""}, tiny{"tiny-common", "1.0.8-1", "tiny", "", ""}, tiny{"newer", "1", "", "Breaks: tinyd (<< 1.0.8)", ""},
		tiny{"tinyd", "1.0.9-1", "tiny", "", ""}, tiny{"tiny-common", "1.0.9-1", "tiny", "Breaks: tinyd (<< 1.0.9)", ""},
		tiny{"tinyd", "0.9.9-1", "tiny", "", ""}, tiny{"tiny-common", "0.9.9-1", "tiny", "", ""},
		tiny{"tinyd", "2.0.0-1", "tiny", "", ""}, tiny{"tiny-common", "2.0.0-1", "tiny", "", ""},
		tiny{"other", "1", "", "", ""}, tiny{"other", "2", "", "", ""})
	offer(t, all...)
	for i, x := range []struct {
		pins, spoil string
		wayBack     bool
		want        string
	}{
		{"tinyd=1.0.2-1", "true", true, ""},
		{"fresh=1", "true", false, "package fresh is not installed"},
		{"tinyd=1.0.2-1 tiny-common=1.0.3-1", "true", false, "packages of source tiny are to have versions"},
		{"tinyd=1.0.2-1", "apt-mark hold tiny-common", false, "package tiny-common is on hold"},
		{"tinyd=1.0.2-1", "sed -i '/^Package: other$/,/^$/s/^Status: .*/Status: install ok half-configured/' /var/lib/dpkg/status", false, "packages of this host are half installed"},
		{"tinyd=1.0.7-1", "true", false, "apt has no tinyd of version 1.0.7-1; it has: "},
		{"tinyd=0.9.9-1", "true", false, "tiny-common would go from 1.0.1-1 back to 0.9.9-1: a server does not start on files of a newer series"},
		{"tinyd=2.0.0-1", "true", true, "there is no way back across a series"},
		{"tinyd=2.0.0-1", "true", false, ""},
		{"tinyd=1.0.3-1", "true", false, "apt would bring other, which is not named"},
		{"tinyd=1.0.4-1", "true", false, "apt cannot install them"},
		{"tinyd=1.0.5-1", "true", false, "apt"},
		{"tinyd=1.0.6-1", "true", false, ""},
		{"tinyd=1.0.6-1", "true", true, ""},
		{"tinyd=1.0.8-1", "true", false, ""},
		{"tinyd=1.0.8-1", "true", true, "apt could not install the packages of before again"},
		{"tinyd=1.0.9-1", "true", true, ""},
		{"tinyd=1.0.2-1", "mount -t tmpfs -o size=1m tmpfs /var/cache/apt/archives", false, "the file system of /var/cache/apt/archives lacks"},
		{"tinyd=1.0.2-1", "printf '" + strings.ReplaceAll(ourPolicy, "'", "'\\''") + "' > /usr/sbin/policy-rc.d", false, "is still that of an earlier installation"},
		{"tinyd=1.0.2-1", "sed -i 's/^Version: 1.0.1-1/Version: 1.0.0-1/' /var/lib/dpkg/status; sed -i '/^Package: tiny-common$/,/^$/s/^Version: .*/Version: 1.0.1-1/; s/(= 1.0.1-1)/(>= 0)/' /var/lib/dpkg/status", false, "have different versions now"},
	} {
		t.Run(fmt.Sprintf("%d, %s", i, x.pins), func(t *testing.T) {
			turns.One(t, 8)
			clean(t)
			install(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1", "other=1")
			sh(t, "cp /var/lib/dpkg/status /status")
			sh(t, x.spoil)
			was := sh(t, "md5sum /var/lib/dpkg/status; ls -l /usr/sbin/policy-rc.d* 2>/dev/null || true")
			r, err := (&Apt{}).Look(t.Context(), parsed(t, strings.Fields(x.pins)...), x.wayBack, nil)
			if err != nil {
				t.Errorf("%s, %s: %v", x.pins, x.spoil, err)
			}
			var found []string
			for _, f := range r.Faults {
				found = append(found, f.Text)
			}
			if said := strings.Join(found, "\n"); !strings.Contains(said, x.want) || x.want == "" && said != "" {
				t.Errorf("%s, %s: %q, want %q", x.pins, x.spoil, said, x.want)
			}
			if is := sh(t, "md5sum /var/lib/dpkg/status; ls -l /usr/sbin/policy-rc.d* 2>/dev/null || true"); is != was {
				t.Errorf("%s: looking has changed something: %s, was %s", x.pins, is, was)
			}
			sh(t, "umount /var/cache/apt/archives 2>/dev/null; cp /status /var/lib/dpkg/status")
		})
	}
}

// Somebody else's dpkg is waited for, and found beforehand.
func TestLockOfDpkg(t *testing.T) {
	turns.One(t, 8)
	clean(t)
	offer(t, family...)
	install(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1")
	other := start(t, "lock")
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	n, _ := out.Read(said)
	if !bytes.Contains(said[:n], []byte("locked <nil>")) {
		t.Fatalf("%s", said[:n])
	}
	r, err := (&Apt{}).Look(t.Context(), parsed(t, "tinyd=1.0.2-1"), false, nil)
	if want := fmt.Sprintf("process %d holds the lock of dpkg", other.Process.Pid); err != nil || len(r.Faults) != 1 || r.Faults[0].Text != want {
		t.Errorf("%+v %v, want %s", r.Faults, err, want)
	}
	installed := make(chan error, 1)
	go func() {
		installed <- (&Apt{}).Install(contextOf(), parsed(t, "tinyd=1.0.2-1", "tiny-common=1.0.2-1"))
	}()
	select {
	case err := <-installed:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if err := <-installed; err != nil {
		t.Error(err)
	}
}

// A killed installation leaves a policy, or has moved one aside: whatever it was comes back as it was, and another one that somebody has written meanwhile is not lost.
func TestPolicyComesBack(t *testing.T) {
	turns.One(t, 8)
	clean(t)
	offer(t, family...)
	install(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1")
	for what, make := range map[string]string{
		"none": "true", "file": "printf '#!/bin/sh\\nexit 104' > /usr/sbin/policy-rc.d; chmod 700 /usr/sbin/policy-rc.d; touch -d 2001-02-03 /usr/sbin/policy-rc.d",
		"link": "ln -s /etc/policy /usr/sbin/policy-rc.d", "empty": ": > /usr/sbin/policy-rc.d",
	} {
		for _, at := range Borders {
			sh(t, "rm -f /usr/sbin/policy-rc.d*; "+make)
			look := "cd /usr/sbin && for f in policy-rc.d*; do [ ! -L $f ] && [ ! -e $f ] || stat -c '%i %a %Y %N' $f; done"
			was := sh(t, look)
			cmd := start(t, "install@"+at, "tinyd=1.0.1-1")
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Exited() {
				t.Fatalf("%s, %s: it was not killed: %v\n%s", what, at, err, out)
			}
			if err := Mend(t.Context()); err != nil {
				t.Errorf("%s, %s: %v", what, at, err)
			}
			if is := sh(t, look); is != was {
				t.Errorf("%s, killed %s: policy-rc.d is %q, was %q", what, at, is, was)
			}
		}
	}
	sh(t, "rm -f /usr/sbin/policy-rc.d*; echo first > /usr/sbin/policy-rc.d")
	_ = start(t, "install@after policy", "tinyd=1.0.1-1").Run() // killed
	sh(t, "rm /usr/sbin/policy-rc.d; echo second > /usr/sbin/policy-rc.d")
	if err := Mend(t.Context()); err == nil || !strings.Contains(err.Error(), "another process wrote another one") {
		t.Errorf("%v", err)
	}
	if got := sh(t, "cat /usr/sbin/policy-rc.d /usr/sbin/policy-rc.d.before-stowage"); got != "second\nfirst" {
		t.Errorf("lost: %q", got)
	}
}

// Files are not replaced below a server that runs.
func TestNothingIsInstalledBelowAServer(t *testing.T) {
	clean(t)
	offer(t, family...)
	install(t, "tinyd=1.0.1-1", "tiny-common=1.0.1-1")
	sh(t, "cp /bin/sleep /opt/mariadbd")
	server := exec.Command("/opt/mariadbd", "1000")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	r, err := (&Apt{}).Look(t.Context(), parsed(t, "tinyd=1.0.2-1"), false, nil)
	if err != nil || len(r.Servers) != 1 || r.Servers[0] != (Process{server.Process.Pid, "/opt/mariadbd"}) {
		t.Errorf("%+v %v", r.Servers, err)
	}
	err = (&Apt{}).Install(t.Context(), parsed(t, "tinyd=1.0.2-1", "tiny-common=1.0.2-1"))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("/opt/mariadbd still runs as process %d", server.Process.Pid)) {
		t.Errorf("%v", err)
	}
	if is := sh(t, "dpkg-query -W -f '${Version}' tinyd"); is != "1.0.1-1" {
		t.Errorf("installed: %s", is)
	}
}
