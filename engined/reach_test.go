package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	_ "go.temporal.io/server/api/adminservice/v1"
	"go.temporal.io/server/api/historyservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// farmCA is an authority of the test.
type farmCA struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newFarmCA(t testing.TB) *farmCA {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &farmCA{t, c, key, 0xab00}
}

func (a *farmCA) issue(role, name string) tls.Certificate {
	a.next++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(a.next), Subject: pkix.Name{CommonName: name}, DNSNames: []string{engineName},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	if role != "" {
		c.Subject.OrganizationalUnit = []string{role}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *farmCA) write(dir string) files {
	own := a.issue(roleEngine, "engine")
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	f := files{filepath.Join(dir, "own.crt"), filepath.Join(dir, "own.key"), filepath.Join(dir, "ca.crt"), filepath.Join(dir, "revoked")}
	for path, b := range map[string]*pem.Block{f.cert: {Type: "CERTIFICATE", Bytes: own.Certificate[0]}, f.key: {Type: "PRIVATE KEY", Bytes: key}, f.ca: {Type: "CERTIFICATE", Bytes: a.cert.Raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return f
}

// dial connects with a certificate of the farm.
func (a *farmCA) dial(address string, own tls.Certificate) *grpc.ClientConn {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	how := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, RootCAs: roots, ServerName: engineName}
	return dialWith(a.t, address, credentials.NewTLS(how))
}

func dialWith(t testing.TB, address string, how credentials.TransportCredentials) *grpc.ClientConn {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(how))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// running is a whole engine in this process.
type running struct {
	*farmCA
	address string
	ports   []string // of every socket that this process listens on
	files   files
	dir     string
}

func startServer(t *testing.T) *running {
	t.Helper()
	before := listening(t)
	r := &running{farmCA: newFarmCA(t), dir: t.TempDir()}
	r.files = r.write(r.dir)
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, settings{db: filepath.Join(r.dir, "engine.db"), listen: "127.0.0.1:0", namespace: "stowage", tls: r.files}, in)
		in.Close()
	}()
	var said ready
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("no engine: %v, %v", err, <-ended)
	}
	t.Cleanup(func() { cancel(); <-ended })
	r.address = said.Address
	for _, p := range listening(t) {
		if !slices.Contains(before, p) {
			r.ports = append(r.ports, p)
		}
	}
	return r
}

// listening are the TCP sockets that this process listens on, as /proc says.
func listening(t *testing.T) (out []string) {
	inodes := map[string]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes[strings.Trim(to, "socket:[]")] = true
		}
	}
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(raw), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !inodes[f[9]] {
				continue
			}
			var port int
			if _, err := fmt.Sscanf(f[1][strings.LastIndex(f[1], ":")+1:], "%X", &port); err != nil {
				t.Fatal(err)
			}
			out = append(out, loopback(port))
		}
	}
	return out
}

// Every socket of the engine, found in /proc, closes a connection without the right certificate before a byte of the application:
// history and matching do so for a host's, a controller's and the engine's own certificate too.
func TestNoSocketAnswersWithoutACertificate(t *testing.T) {
	r := startServer(t)
	if len(r.ports) != 3 || !slices.Contains(r.ports, r.address) {
		t.Fatalf("the engine listens on %q, want three with %s", r.ports, r.address)
	}
	stranger := newFarmCA(t)
	inside, err := newInside(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(r.files.cert, r.files.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range r.ports {
		plainly(t, address)
		for name, c := range map[string][]tls.Certificate{"none": nil, "of a foreign authority": {stranger.issue(roleController, "controller")},
			"of another engine's inside": {inside.own}, "of a host": {r.issue(roleHost, "db1")}, "of the controller": {r.issue(roleController, "c")}, "of the engine": {own}} {
			if address == r.address && (strings.HasSuffix(name, "host") || strings.HasSuffix(name, "controller") || name == "of the engine") {
				continue
			}
			if n, err := applicationBytes(address, c); n != 0 {
				t.Errorf("%s answers a connection with the certificate %s: %d bytes, %v", address, name, n, err)
			}
		}
		if address == r.address {
			continue
		}
		for name, how := range map[string]credentials.TransportCredentials{"plain": insecure.NewCredentials(),
			"host": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{r.issue(roleHost, "db1")}})} {
			conn := dialWith(t, address, how)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := historyservice.NewHistoryServiceClient(conn).StartWorkflowExecution(ctx, &historyservice.StartWorkflowExecutionRequest{})
			cancel()
			if status.Code(err) != codes.Unavailable && status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%s, %s: a workflow is begun past the frontend: %v", address, name, err)
			}
		}
	}
	if n, err := applicationBytes(r.address, []tls.Certificate{r.issue(roleController, "c")}); n == 0 {
		t.Errorf("the probe hears nothing where it may: %v", err)
	}
}

// plainly speaks HTTP/2 in the clear.
func plainly(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	got, err := io.ReadAll(c)
	if bytes.Contains(got, []byte{0, 0, 0, 4}) || len(got) > 7 || errors.Is(err, os.ErrDeadlineExceeded) { // a TLS alert is 7 bytes
		t.Errorf("%s answers plain text with %q, %v", address, got, err)
	}
}

// applicationBytes counts what comes out of a connection after the greetings of TLS.
func applicationBytes(address string, own []tls.Certificate) (int, error) {
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: own})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	return c.Read(make([]byte, 1024))
}

// Every call of every service that this program knows is refused to a host, but those that an agent needs; and these too, unless they
// are about the host's own queue and tasks.
func TestEveryCallIsRefusedToAHost(t *testing.T) {
	r := startServer(t)
	conn := r.dial(r.address, r.issue(roleHost, "db1"))
	nobody := r.dial(r.address, r.issue("", "db1"))
	seen, allowed := map[string]int{}, map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			service := f.Services().Get(i)
			for k := range service.Methods().Len() {
				method := service.Methods().Get(k)
				name := fmt.Sprintf("/%s/%s", service.FullName(), method.Name())
				seen[string(service.FullName())]++
				for who, conn := range map[string]*grpc.ClientConn{"a host": conn, "a certificate without a role": nobody} {
					err := callAny(t.Context(), conn, name, method)
					code := status.Code(err)
					if code == codes.Unknown && strings.Contains(err.Error(), "Request unauthorized.") { // how the server refuses a stream
						code = codes.PermissionDenied
					}
					if code == codes.InvalidArgument && hostCalls[name] != nil && method.Input().Fields().ByName("task_token") != nil {
						code = codes.PermissionDenied // no token at all; see TestAHostAnswersOnlyWhatItWasGiven
					}
					switch code {
					case codes.PermissionDenied, codes.Unauthenticated:
					case codes.Unimplemented: // a service of another socket
						if s := string(service.FullName()); strings.Contains(s, "WorkflowService") || strings.Contains(s, "OperatorService") || s == "temporal.server.api.adminservice.v1.AdminService" {
							t.Errorf("%s calls %s: %s, want a refusal", who, name, code)
						}
					case codes.OK:
						allowed[who+" "+name] = true
					default:
						t.Errorf("%s calls %s: %s, want a refusal", who, name, code)
					}
				}
			}
		}
		return true
	})
	if len(allowed) != 1 || !allowed["a host "+workflowService+"GetSystemInfo"] {
		t.Errorf("allowed without a queue, a task or a namespace of one's own: %v, want GetSystemInfo to a host", allowed)
	}
	for _, service := range []string{"temporal.api.workflowservice.v1.WorkflowService", "temporal.api.operatorservice.v1.OperatorService",
		"temporal.server.api.adminservice.v1.AdminService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"} {
		if seen[service] == 0 {
			t.Errorf("not one call of %s was tried", service)
		}
	}
	t.Logf("calls tried: %v", seen)
}

// callAny makes a call with an empty request in our namespace, and reads one answer.
func callAny(ctx context.Context, conn *grpc.ClientConn, name string, method protoreflect.MethodDescriptor) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, answer := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if f := method.Input().Fields().ByName("namespace"); f != nil && f.Kind() == protoreflect.StringKind {
		request.Set(f, protoreflect.ValueOfString("stowage"))
		if short := name[strings.LastIndex(name, "/")+1:]; short == "DescribeNamespace" {
			request.Set(f, protoreflect.ValueOfString("temporal-system")) // exists, and is not ours
		}
	}
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		return conn.Invoke(ctx, name, request, answer)
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, name)
	if err != nil {
		return err
	}
	_ = s.SendMsg(request)
	return s.RecvMsg(answer)
}

// A host takes a task and is killed; another, and one that was not given it, cannot answer, fail, cancel or beat it. Its own agent can,
// also after the engine was started again.
func TestAHostAnswersOnlyWhatItWasGiven(t *testing.T) {
	r := startServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	control := workflowservice.NewWorkflowServiceClient(r.dial(r.address, r.issue(roleController, "c")))
	one := workflowservice.NewWorkflowServiceClient(r.dial(r.address, r.issue(roleHost, "db1")))
	two := workflowservice.NewWorkflowServiceClient(r.dial(r.address, r.issue(roleHost, "db2")))
	token := schedule(ctx, t, control, one)
	bare := token[:len(token)-len(tokenKey(nil).seal("", nil))]
	refused := func(what string, err error) {
		t.Helper()
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	for what, stolen := range map[string][]byte{"stolen": token, "bare": bare} {
		_, err := two.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: "stowage", TaskToken: stolen})
		refused(what+" completed", err)
		_, err = two.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{Namespace: "stowage", TaskToken: stolen})
		refused(what+" failed", err)
		_, err = two.RespondActivityTaskCanceled(ctx, &workflowservice.RespondActivityTaskCanceledRequest{Namespace: "stowage", TaskToken: stolen})
		refused(what+" canceled", err)
		_, err = two.RecordActivityTaskHeartbeat(ctx, &workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: "stowage", TaskToken: stolen})
		refused(what+" beaten", err)
	}
	_, err := one.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: "stowage", TaskToken: bare})
	refused("its own, without signature", err)
	for what, poll := range map[string]*workflowservice.PollActivityTaskQueueRequest{
		"another's queue":   {Namespace: "stowage", TaskQueue: &taskqueue.TaskQueue{Name: "host.db1"}},
		"the jobs' queue":   {Namespace: "stowage", TaskQueue: &taskqueue.TaskQueue{Name: "stowage", Kind: enums.TASK_QUEUE_KIND_NORMAL}},
		"a sticky queue":    {Namespace: "stowage", TaskQueue: &taskqueue.TaskQueue{Name: "host.db2", Kind: enums.TASK_QUEUE_KIND_STICKY, NormalName: "stowage"}},
		"a part of a queue": {Namespace: "stowage", TaskQueue: &taskqueue.TaskQueue{Name: "/_sys/host.db1/1", Kind: enums.TASK_QUEUE_KIND_NORMAL}},
	} {
		_, err := two.PollActivityTaskQueue(ctx, poll)
		refused("poll of "+what, err)
	}
	for what, end := range map[string]*workflowservice.ShutdownWorkerRequest{
		"another's worker": {Namespace: "stowage", TaskQueue: "host.db1"}, "the jobs' worker": {Namespace: "stowage", TaskQueue: "host.db2", StickyTaskQueue: "x"}} {
		_, err := two.ShutdownWorker(ctx, end)
		refused("shutdown of "+what, err)
	}
	key, err := openTokenKey(filepath.Join(r.dir, "engine.db.key"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := key.open("db1", token); err != nil || !bytes.Equal(plain, bare) {
		t.Errorf("after a restart the token is refused: %v", err)
	}
	if _, err := one.RecordActivityTaskHeartbeat(ctx, &workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: "stowage", TaskToken: token}); err != nil {
		t.Errorf("its own heartbeat: %v", err)
	}
	if _, err := one.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: "stowage", TaskToken: token}); err != nil {
		t.Errorf("its own task: %v", err)
	}
}

// schedule has an activity wait on the queue of db1, which takes it.
func schedule(ctx context.Context, t *testing.T, control, host workflowservice.WorkflowServiceClient) (token []byte) {
	t.Helper()
	queue := &taskqueue.TaskQueue{Name: "jobs", Kind: enums.TASK_QUEUE_KIND_NORMAL}
	_, err := control.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{Namespace: "stowage", WorkflowId: "w", RequestId: "r",
		WorkflowType: &common.WorkflowType{Name: "x"}, TaskQueue: queue})
	if err != nil {
		t.Fatal(err)
	}
	task, err := control.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{Namespace: "stowage", TaskQueue: queue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.RespondWorkflowTaskCompleted(ctx, scheduleOn(task.GetTaskToken(), "host.db1")); err != nil {
		t.Fatal(err)
	}
	given, err := host.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{Namespace: "stowage",
		TaskQueue: &taskqueue.TaskQueue{Name: "host.db1", Kind: enums.TASK_QUEUE_KIND_NORMAL}})
	if err != nil || len(given.GetTaskToken()) == 0 {
		t.Fatalf("db1 is given nothing: %v", err)
	}
	return given.GetTaskToken()
}

// A revoked certificate is refused on the connection that it has, and on a new one.
func TestRevokedCertificateIsRefused(t *testing.T) {
	r := startServer(t)
	own := r.issue(roleHost, "db1")
	conn := workflowservice.NewWorkflowServiceClient(r.dial(r.address, own))
	ask := func(c workflowservice.WorkflowServiceClient) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		return err
	}
	if err := ask(conn); err != nil {
		t.Fatal(err)
	}
	text := "# db1, lost\n" + own.Leaf.SerialNumber.Text(16) + " # 2026\n"
	if err := os.WriteFile(r.files.revoked, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(lookAgain + 100*time.Millisecond)
	if err := ask(conn); status.Code(err) != codes.PermissionDenied {
		t.Errorf("on the connection it had: %v", err)
	}
	if err := ask(workflowservice.NewWorkflowServiceClient(r.dial(r.address, own))); err == nil {
		t.Error("on a new connection: let in")
	}
	if err := ask(workflowservice.NewWorkflowServiceClient(r.dial(r.address, r.issue(roleHost, "db2")))); err != nil {
		t.Errorf("another host: %v", err)
	}
	if err := os.WriteFile(r.files.revoked, []byte("no number\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(lookAgain + 100*time.Millisecond)
	if err := ask(workflowservice.NewWorkflowServiceClient(r.dial(r.address, r.issue(roleHost, "db3")))); err == nil {
		t.Error("with a list that cannot be read: let in")
	}
	for text, want := range map[string]bool{"xyz\n": false, "AB:01\n": true, "\n#\n": true} {
		if _, err := parseRevoked([]byte(text)); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTokenKeyOfOthersIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	first, err := openTokenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := openTokenKey(path); err != nil || !bytes.Equal(first, again) {
		t.Errorf("another key: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openTokenKey(path); err == nil {
		t.Error("a key that others can read is taken")
	}
}
