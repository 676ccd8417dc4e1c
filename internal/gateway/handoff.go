package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// taken is what the gateway answers to a hand-over it accepts.
const taken = 1

// Handoff opens a way out for a session that has no network: over the returned
// file, which its process inherits, the session hands a socket that listens in
// a network of its own, and the gateway serves this session there until Close.
//
// The file is one end of a pair of connected sockets and has no name, so nobody
// but who was given it can use it. It takes one hand-over, of one socket that
// listens on 127.0.0.1; after it, good or not, it is shut.
func (p *Proxy) Handoff() (*os.File, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("open handoff: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.handoff != nil {
		return nil, errors.Join(errors.New("open handoff: the session has had its handoff"), ours.Close(), theirs.Close())
	}
	p.handoff = ours
	p.served.Go(func() { p.attend(ours) }) // Close waits for it
	return theirs, nil
}

// attend takes the hand-over and serves what was handed over.
func (p *Proxy) attend(conn *net.UnixConn) {
	listener, err := takeListener(conn)
	if err != nil {
		conn.Close()
		return
	}
	server := p.gateway.newServer(http.HandlerFunc(p.serveHTTP))
	if !p.adopt(server) {
		listener.Close()
		conn.Close()
		return
	}
	_, _ = conn.Write([]byte{taken}) // who does not wait for it does not need it
	conn.Close()
	_ = server.Serve(listener) // Close ends it
}

// adopt notes the hand-over, unless the session is closed.
func (p *Proxy) adopt(s *http.Server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.server, p.report.HandedOver = s, true
	return true
}

// serveHTTP serves this session and refuses the keys of all others.
func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if dummyKey(r.Header) != p.session.Key {
		refuseKey(w)
		return
	}
	p.gateway.serve(p, w, r)
}

// takeListener reads one message with one descriptor.
func takeListener(conn *net.UnixConn) (net.Listener, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*8))
	_, n, _, _, err := conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	files, err := received(rights[:n])
	for _, f := range files {
		defer f.Close() // the listener is a copy
	}
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%d descriptors handed over, want 1", len(files))
	}
	return listenerOf(files[0])
}

func received(rights []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	for _, m := range messages {
		fds, ferr := unix.ParseUnixRights(&m)
		err = errors.Join(err, ferr)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return files, err
}

func listenerOf(f *os.File) (net.Listener, error) {
	if on, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || on == 0 {
		return nil, fmt.Errorf("not a listening socket: %w", err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.Equal(net.IPv4(127, 0, 0, 1)) || addr.Port == 0 {
		return nil, errors.Join(fmt.Errorf("socket listens on %v", l.Addr()), l.Close())
	}
	return l, nil
}

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no process is started between the next lines
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	mine := os.NewFile(uintptr(fds[0]), "handoff")
	theirs = os.NewFile(uintptr(fds[1]), "handoff")
	defer mine.Close() // the connection is a copy
	conn, err := net.FileConn(mine)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	ours, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, nil, errors.Join(errors.New("not a unix socket"), conn.Close(), theirs.Close())
	}
	return ours, theirs, nil
}
