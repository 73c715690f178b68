//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// service and deployment are the documents of a stream.
const (
	service    = "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\nspec:\n  ports:\n  - {name: http, port: 80}\n"
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  template:\n" +
		"    metadata: {labels: {app: d}}\n    spec: {containers: [{name: a, image: i}]}\n"
)

// stream writes documents, one Deployment after 99 Services, until there are
// more than size bytes.
type stream struct{ left int }

func (s *stream) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, io.EOF
	}
	block := deployment + "---\n" + strings.Repeat(service+"---\n", 99)
	n := 0
	for s.left > 0 && n+len(block) <= len(p) {
		n += copy(p[n:], block)
		s.left -= len(block)
	}
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	return n, nil
}

// However long the stream, memory stays bounded; what is in between lies in a
// temporary file, of which nothing stays behind.
func TestMemoryIsBounded(t *testing.T) {
	temp := t.TempDir()
	cmd := exec.Command(binary(t), "kube-inject", "-f", "-", "-o", filepath.Join(temp, "out.yaml"))
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "KUBECONFIG="+os.DevNull, "GOMEMLIMIT=off", "GOGC=100")
	const size = 14 << 20
	cmd.Stdin = struct{ io.Reader }{&stream{size}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("the system does not say how much memory was used")
	}
	kilobytes := int64(usage.Maxrss) // on Linux; bytes on macOS
	if kilobytes > 1<<30 {
		kilobytes /= 1024
	}
	if kilobytes > 80<<10 { // the result has about 105 MiB
		t.Errorf("%d MiB of memory for a stream of %d MiB", kilobytes>>10, size>>20)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A reader that goes away is not worth a word.
func TestClosedPipeIsQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(t), "kube-inject", "-f", "-", "--diagnostics", "json")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	cmd.Stdin = struct{ io.Reader }{&stream{1 << 20}}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the command takes no notice of the closed pipe")
	}
	if got := stderr.String(); strings.Contains(got, "Error") || strings.Contains(got, "broken") {
		t.Errorf("standard error: %q", got)
	}
}

// A signal ends the command while it waits for input; nothing stays behind.
func TestSignalEndsInGoodOrder(t *testing.T) {
	temp := t.TempDir()
	target := filepath.Join(temp, "out.yaml")
	if err := os.WriteFile(target, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(binary(t), "kube-inject", "-f", "-", "-o", target)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "KUBECONFIG="+os.DevNull)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than memory holds and more than a pipe does: when all of it is
		// written, the command has read most of it and waits for the rest.
		if _, err := io.Copy(stdin, struct{ io.Reader }{&stream{12 << 20}}); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%v: %v", signal, err)
		}
		if !strings.Contains(stderr.String(), "Error: interrupted; nothing was written") {
			t.Errorf("%v: standard error: %q", signal, stderr.String())
		}
	}
	data, err := os.ReadFile(target)
	if err != nil || string(data) != "before" {
		t.Errorf("the target holds %d bytes, %v", len(data), err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A signal while a reader does not read ends the command too, and it does not
// say that nothing was written.
func TestSignalWhileWriting(t *testing.T) {
	temp := t.TempDir()
	cmd := exec.Command(binary(t), "kube-inject", "-f", "-")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "KUBECONFIG="+os.DevNull)
	cmd.Stdin = struct{ io.Reader }{&stream{10 << 20}}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first byte says that it writes; the pipe holds less than there is.
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if state, err := cmd.Process.Wait(); err != nil || state.ExitCode() != 1 {
		t.Errorf("%v, %v", state, err)
	}
	_ = cmd.Wait() // collects the streams; the process is gone
	if got := stderr.String(); !strings.Contains(got, "Error: interrupted: standard output holds a part of the result only") {
		t.Errorf("standard error: %q", got)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A cluster that takes connections and says nothing, or stops in the middle of
// its answer, ends the command in the time allowed; a signal ends it before.
func TestSilentCluster(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := make(chan net.Conn, 16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil { // what comes before it is asked for is no answer
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
			}
			taken <- conn
		}
	}()
	temp := t.TempDir()
	target, kubeconfig := filepath.Join(temp, "out.yaml"), filepath.Join(temp, "kubeconfig")
	for file, text := range map[string]string{
		target: "before",
		kubeconfig: "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://" + listener.Addr().String() +
			"\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		timeout string
		signal  bool
		want    []string
	}{
		{"300ms", false, []string{"Error: ", "no answer within 300ms", "--injectConfigFile", "--kubeclient-timeout"}},
		{"1h", true, []string{"Error: interrupted; nothing was written"}},
	} {
		cmd := exec.Command(binary(t), "kube-inject", "-f", "-", "-o", target, "--kubeclient-timeout", c.timeout)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "KUBECONFIG="+kubeconfig)
		cmd.Stdin = strings.NewReader(deployment)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		conn := <-taken
		defer conn.Close()
		if c.signal {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: %v", c.timeout, err)
		}
		if text := stderr.String(); !strings.HasPrefix(text, "Error: ") || strings.Contains(text, ".go:") {
			t.Errorf("%s: standard error is not all our own: %s", c.timeout, text)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: standard error lacks %q: %s", c.timeout, want, stderr.String())
			}
		}
		if data, err := os.ReadFile(target); err != nil || string(data) != "before" {
			t.Errorf("%s: the target holds %q, %v", c.timeout, data, err)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Under the name istioctl, through a link, everything is the same.
func TestLinkNamedIstioctl(t *testing.T) {
	link := filepath.Join(t.TempDir(), "istioctl")
	if err := os.Symlink(binary(t), link); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(link, "kube-inject", "--help").Output()
	if err != nil || !bytes.Contains(out, []byte("istioctl kube-inject -f deployment.yaml")) {
		t.Errorf("%v\n%s", err, out)
	}
	cmd := exec.Command(link, "analyze")
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 64 {
		t.Errorf("%v\n%s", err, text)
	}
}
