package kafka

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/heard"
	"stowage/internal/keeper"
)

// brokerVersion is fetched by scripts/kafka.sh, which reads it here.
const brokerVersion = "4.3.1"

// broker is one process of Kafka, its own controller (KRaft), on the loopback.
type broker struct {
	t       *testing.T
	dir     string
	address string
	jars    string
	cmd     *exec.Cmd
	said    heard.Log
}

// startBroker starts one without topics, or skips the test.
func startBroker(t *testing.T) *broker {
	t.Helper()
	jars := fetched(t)
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv("FARMS"), "/var/tmp"), "stowage-kafka-*")
	must(t, err)
	b := &broker{t: t, dir: dir, jars: jars + "/*", address: freeAddress(t)}
	t.Cleanup(func() {
		b.kill()
		os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("the broker said:\n%s", &b.said)
		}
	})
	controller := freeAddress(t)
	must(t, os.WriteFile(dir+"/broker.properties", []byte(strings.Join([]string{
		"process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER", "controller.quorum.voters=1@" + controller,
		"listeners=PLAINTEXT://" + b.address + ",CONTROLLER://" + controller, "log.dirs=" + dir + "/data",
		"auto.create.topics.enable=false", "offsets.topic.replication.factor=1", ""}, "\n")), 0o644))
	var id [16]byte
	_, _ = rand.Read(id[:])
	format := b.java("kafka.tools.StorageTool", "format", "-t", base64.RawURLEncoding.EncodeToString(id[:]), "-c", dir+"/broker.properties")
	if out, err := format.CombinedOutput(); err != nil {
		t.Fatalf("format: %v\n%s", err, out)
	}
	b.start()
	return b
}

// fetched is where the broker's program is.
func fetched(t *testing.T) string {
	t.Helper()
	home, err := os.UserCacheDir()
	must(t, err)
	dir := filepath.Join(home, "stowage", "kafka-"+brokerVersion)
	if _, err := os.Stat(dir + "/version"); err != nil {
		t.Skipf("NOT TESTED: a real broker: Kafka %s is not in %s (make kafka puts it there)", brokerVersion, dir)
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("NOT TESTED: a real broker: there is no Java (make kafka installs it)")
	}
	return dir + "/lib"
}

func (b *broker) java(args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", b.jars}, args...)...)
}

// start starts it, again after a kill, and returns when it answers.
func (b *broker) start() {
	b.t.Helper()
	b.cmd = b.java("kafka.Kafka", b.dir+"/broker.properties")
	b.cmd.Stdout, b.cmd.Stderr = &b.said, &b.said
	must(b.t, keeper.Start(b.cmd))
	for end := time.Now().Add(farmtest.WaitLimit); ; time.Sleep(100 * time.Millisecond) {
		if conn, err := net.Dial("tcp", b.address); err == nil {
			conn.Close()
			return
		} else if time.Now().After(end) {
			b.t.Fatalf("the broker does not answer: %v\n%s", err, &b.said)
		}
	}
}

// signal freezes it, or lets it go on.
func (b *broker) signal(s os.Signal) {
	b.t.Helper()
	must(b.t, b.cmd.Process.Signal(s))
}

// kill is kill -9.
func (b *broker) kill() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // killed
	b.cmd = nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func must(t *testing.T, err error, what ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(append([]any{err}, fmt.Sprintln(what...))...)
	}
}
