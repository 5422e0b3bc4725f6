package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

// wire is one recording of one instance from the network.
type wire struct {
	r     *Recorder
	t     Target
	res   *Result
	guard *guard // nil: the server does not let us look
	l     *traffic.SlowLog
	bytes atomic.Int64
}

// Network copies the packets of the instance from the kernel for a window and
// digests them as they come; with Options.Keep it also keeps them. It changes
// nothing on the server. When ctx ends, the window ends, and what was recorded
// is returned without an error.
func (r *Recorder) Network(ctx context.Context, t Target) (Result, *digest.Digest, error) {
	res := Result{Instance: t.Instance, Address: t.Address, Stopped: StopFailed, SettingsRestored: []string{}}
	w := &wire{r: r, t: t, res: &res}
	if err := t.isHere(ctx); err != nil {
		return res, nil, err
	}
	release, err := lock(r.Dir, t.Instance)
	if err != nil {
		return res, nil, err
	}
	defer release()
	steady := context.WithoutCancel(ctx)
	s := t.Server(t.Instance, t.Address)
	defer s.Close()
	e, err := w.meet(steady, s)
	if w.l != nil {
		defer w.l.Close()
	}
	if err != nil {
		return res, nil, err
	}
	if ctx.Err() != nil {
		res.Stopped = StopInterrupted
		return res, nil, nil
	}
	filter, err := packetFilter(e)
	if err != nil {
		return res, nil, &farm.Error{Op: "record", Subject: string(t.Instance), Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	sock, err := openSocket(filter)
	if err != nil {
		return res, nil, err
	}
	defer sock.close()
	d, err := w.record(ctx, steady, sock)
	if w.guard != nil {
		res.Notes = append(res.Notes, w.guard.notes...)
	}
	return res, d, err
}

// meet asks the server, if it lets us in, how busy it is and who is on its
// socket. Recording from the network needs no account: without one it says so.
func (w *wire) meet(ctx context.Context, s *mysql.Server) (endpoint, error) {
	host, port, _ := net.SplitHostPort(w.t.Address) // isHere has read it
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return endpoint{}, &farm.Error{Op: "record", Subject: string(w.t.Instance), Err: fmt.Errorf("%w: port %q", farm.ErrInput, port)}
	}
	e := endpoint{port: uint16(n)}
	if w.t.Shared {
		if e.addresses, err = Addresses(ctx, host); err != nil {
			return e, err
		}
	}
	w.res.Notes = append(w.res.Notes, "clients on the server's own Unix socket are not seen")
	if w.l, err = traffic.OpenSlowLog(ctx, s); err != nil {
		w.res.Notes = append(w.res.Notes, fmt.Sprintf("the load of the server was not watched: %v", err))
		w.l = nil
		return e, nil
	}
	w.guard = &guard{l: w.l, o: w.r.Options}
	if err := w.guard.mayBegin(ctx, w.t.Instance); err != nil {
		return e, err
	}
	if sessions, err := w.l.ClientSessions(ctx); err == nil {
		for _, x := range sessions {
			if x.Host == "localhost" {
				w.res.SocketSessions++
			}
		}
	}
	if from, err := w.l.Self(ctx); err == nil {
		_, port, _ := net.SplitHostPort(from)
		own, _ := strconv.ParseUint(port, 10, 16) // 0 leaves nobody out
		e.without = uint16(own)
	}
	return e, nil
}

// record runs the packets through the digest's reader until the window ends.
func (w *wire) record(ctx, steady context.Context, sock *socket) (*digest.Digest, error) {
	keep, err := w.keep()
	if err != nil {
		return nil, err
	}
	b := digest.New(w.r.Options.Digest)
	from, to := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := b.ReadCapture(fmt.Sprintf("%s, network", w.t.Instance), from)
		from.CloseWithError(err) // whoever still writes hears of it
		read <- err
	}()
	stop, received := make(chan struct{}), make(chan error, 1)
	go func() {
		err := w.receive(sock, stop, to, keep)
		to.CloseWithError(err) // nil is the end of the file
		received <- err
	}()
	began := time.Now()
	w.r.tell(Progress{Instance: w.t.Instance, Began: true})
	probes := beginProbing()
	end := watch(ctx, steady, w.r.Options.For, w.guard, received, w.look)
	noteProbes := probes.end()
	w.res.Seconds = time.Since(began).Seconds()
	w.res.Stopped, w.res.Detail = end.stop, end.detail
	close(stop)
	if end.stop != StopFailed {
		end.err = <-received
	}
	readErr := <-read
	if keep != nil {
		end.err = errors.Join(end.err, keep.Sync(), keep.Close())
	}
	w.res.Bytes, w.res.Packets, w.res.Dropped = w.bytes.Load(), sock.seen-sock.dropped, sock.dropped
	w.r.tell(Progress{Instance: w.t.Instance, Bytes: w.res.Bytes, Ended: true, Stopped: end.stop})
	d := b.Digest()
	noteProbes(d)
	w.res.counted(d)
	if err := errors.Join(end.err, readErr); err != nil {
		w.res.Stopped = StopFailed
		return d, &farm.Error{Op: "record from the network", Subject: string(w.t.Instance), Err: err}
	}
	return d, nil
}

// keep opens the file that packets are kept in. They hold what users wrote:
// only the owner may read it.
func (w *wire) keep() (*os.File, error) {
	if w.r.Options.Keep == "" {
		return nil, nil
	}
	file, err := os.OpenFile(w.r.Options.Keep, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, &farm.Error{Op: "keep packets in", Subject: w.r.Options.Keep, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a new file"}
	}
	return file, nil
}

// receive writes packets as a pcap file until stop.
func (w *wire) receive(sock *socket, stop <-chan struct{}, to io.Writer, keep *os.File) error {
	if keep != nil {
		to = io.MultiWriter(to, keep)
	}
	buffered := bufio.NewWriterSize(to, 256<<10)
	pcap, err := newPcap(buffered)
	if err != nil {
		return err
	}
	err = sock.receive(stop, func(at time.Time, data []byte, full int) error {
		w.bytes.Add(int64(len(data)))
		return pcap.packet(at, data, full)
	}, buffered.Flush)
	return errors.Join(err, buffered.Flush())
}

// look compares the packets with the bounds.
func (w *wire) look(ctx context.Context) *ending {
	n := w.bytes.Load()
	w.r.tell(Progress{Instance: w.t.Instance, Bytes: n})
	if n >= w.r.Options.MaxBytes {
		return endf(StopBytes, "%s of packets", bytes(n))
	}
	return w.room(ctx)
}

// room keeps the reserve of the file system that packets are kept on.
func (w *wire) room(ctx context.Context) *ending {
	if w.r.Options.Keep == "" {
		return nil
	}
	free, err := Here{}.FreeBytes(ctx, filepath.Dir(w.r.Options.Keep))
	if err == nil && free <= w.r.Options.Reserve {
		return endf(StopDisk, "%s are free where packets are kept; %s must stay free", bytes(free), bytes(w.r.Options.Reserve))
	}
	return nil
}

// KeepFor is the file that the packets of one of several instances are kept
// in: the instance's name goes in front of the extension.
func KeepFor(file string, n farm.InstanceName, several bool) string {
	if file == "" || !several {
		return file
	}
	ext := filepath.Ext(file)
	return strings.TrimSuffix(file, ext) + "-" + string(n) + ext
}
