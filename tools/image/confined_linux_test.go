package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// confined runs the program in a folder with the image's files as a container
// does: as the image's user, with nothing else, and nothing that it can write to
// but the folder for that.
func confined(t *testing.T, root string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("the program is not run as in a container: it takes root to give it another root folder and user")
		return
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "payments.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ingraft := func(args ...string) (stdout []byte, err error) {
		var talk bytes.Buffer
		cmd := &exec.Cmd{
			Path: "/" + program, Args: append([]string{"ingraft"}, args...), Dir: "/", Env: []string{}, Stdin: bytes.NewReader(example), Stderr: &talk,
			SysProcAttr: &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}},
		}
		if stdout, err = cmd.Output(); err != nil {
			t.Logf("ingraft %v: %s", args, &talk)
		}
		return stdout, err
	}
	if out, err := ingraft("kube-inject", "-f", "-"); err != nil || !bytes.Contains(out, []byte("name: istio-proxy")) {
		t.Errorf("error %v, output %s", err, out)
	}
	if out, err := ingraft("kube-inject", "-f", "-", "-o", "/tmp/injected.yaml"); err != nil {
		t.Errorf("error %v, output %s", err, out)
	}
	if _, err := ingraft("kube-inject", "-f", "-", "-o", "/injected.yaml"); err == nil {
		t.Error("it wrote to the root folder")
	}
}
