package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
)

// Host is a network of its own, as a pod has one: a network namespace, and an
// address in it that this machine reaches, and so the API server.
type Host struct {
	// Address is the host's, Gateway that of this machine as the host sees it.
	Address, Gateway string

	name      string // of the namespace
	listeners []net.Listener
	serving   sync.WaitGroup
}

// ErrNoHosts tells that this user may not make network namespaces, or that the
// program for it is not there.
var ErrNoHosts = errors.New("network namespaces cannot be made: that takes root, and ip, which is in the package iproute2")

// hosts counts those of this process, for their names.
var hosts atomic.Int32

// NewHost makes a host. Remove must be called, unless there is an error.
func NewHost(ctx context.Context) (*Host, error) {
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		return nil, ErrNoHosts
	}
	number := hosts.Add(1)
	h := &Host{name: fmt.Sprintf("ingraft-%d-%d", os.Getpid(), number)}
	if err := ip(ctx, "netns", "add", h.name); err != nil {
		if strings.Contains(err.Error(), "not permitted") || strings.Contains(err.Error(), "denied") {
			err = fmt.Errorf("%w (%w)", ErrNoHosts, err)
		}
		return nil, err
	}
	near, far, err := freeNetwork()
	if err == nil {
		h.Gateway, h.Address = near.Addr().String(), far.Addr().String()
		// The name of an interface has 15 characters at most.
		err = h.connect(ctx, fmt.Sprintf("ig%dn%d", os.Getpid(), number), near, far)
	}
	if err != nil {
		return nil, errors.Join(err, h.Remove())
	}
	return h, nil
}

// connect lays a cable from this machine to the host.
func (h *Host) connect(ctx context.Context, link string, near, far netip.Prefix) error {
	for _, args := range [][]string{
		{"link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", h.name},
		{"addr", "add", near.String(), "dev", link},
		{"link", "set", link, "up"},
		{"-n", h.name, "addr", "add", far.String(), "dev", "eth0"},
		{"-n", h.name, "link", "set", "eth0", "up"},
		{"-n", h.name, "link", "set", "lo", "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// freeNetwork returns the two addresses of a network that this machine is not
// in, out of those that are for measuring networks (RFC 2544): no endpoint may
// be on the loopback.
func freeNetwork() (near, far netip.Prefix, err error) {
	taken, err := net.InterfaceAddrs()
	if err != nil {
		return near, far, fmt.Errorf("reading addresses: %w", err)
	}
	const networks = 1 << 15 // of four addresses each
	for n := range networks {
		n = (n + os.Getpid()) % networks * 4
		near = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + byte(n>>16), byte(n >> 8), byte(n + 1)}), 30)
		far = netip.PrefixFrom(near.Addr().Next(), 30)
		free := true
		for _, a := range taken {
			p, err := netip.ParsePrefix(a.String())
			free = free && (err != nil || !p.Overlaps(near))
		}
		if free {
			return near, far, nil
		}
	}
	return near, far, errors.New("all addresses for hosts are taken")
}

// command returns the command that runs a program on the host.
func (h *Host) command(program string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.name, program}, args...)...)
}

// Reach lets the host get to the API server, and returns a kubeconfig like the
// given one for programs there.
func (c *ControlPlane) Reach(h *Host, kubeconfig string) (string, error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", fmt.Errorf("reading a kubeconfig: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(h.Gateway, "0"))
	if err != nil {
		return "", fmt.Errorf("listening for %s: %w", h.name, err)
	}
	h.listeners = append(h.listeners, l)
	h.serving.Go(func() { forward(l, strings.TrimPrefix(c.server, "https://")) })
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.TLSServerName = "https://"+l.Addr().String(), "localhost"
	}
	file := filepath.Join(c.Dir, h.name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return file, nil
}

// forward passes connections on until the listener is closed.
func forward(l net.Listener, target string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("tcp", target)
			if err != nil {
				return // who asked sees that nobody answers
			}
			go func() {
				defer to.Close()
				_, _ = io.Copy(to, from) // either end may go away
			}()
			_, _ = io.Copy(from, to)
		}()
	}
}

// Remove takes the host away, also from those who still run on it.
func (h *Host) Remove() error {
	var errs []error
	for _, l := range h.listeners {
		errs = append(errs, l.Close())
	}
	h.serving.Wait()
	return errors.Join(append(errs, ip(context.Background(), "netns", "del", h.name))...)
}
