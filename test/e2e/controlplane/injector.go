package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Ingraft runs the program under test, on the given kubeconfig or without one.
// An error has what it wrote to standard error.
func (c *ControlPlane) Ingraft(ctx context.Context, program, kubeconfig, stdin string, args ...string) (stdout, stderr string, err error) {
	return run(ctx, exec.CommandContext(ctx, program, args...), stdin, "KUBECONFIG="+kubeconfig, "HOME="+c.Dir)
}

// Injector is a process of `ingraft injector serve`.
type Injector struct {
	*Process
	// URL is where it takes reviews.
	URL string
	// CAFile is what its certificate is checked with, PEM.
	CAFile string
	// Monitoring is the URL of the monitoring port.
	Monitoring string
}

// InjectorOptions say how an injector is started.
type InjectorOptions struct {
	// Dir is a folder of its own.
	Dir string
	// Address is where it listens; empty for a free port of the loopback.
	Address string
	// Kubeconfig is for one that works in the cluster. It keeps its certificate
	// there, so that there is no CAFile.
	Kubeconfig string
	// Args are further flags.
	Args []string
}

// StartInjector starts an injector and waits until it is ready.
func StartInjector(ctx context.Context, program string, o InjectorOptions) (*Injector, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	args := append([]string{
		"injector", "serve", "--listen", o.Address, "--monitoring-listen", "127.0.0.1:0", "--drain", "0s",
	}, o.Args...)
	env := []string{"HOME=" + o.Dir}
	ca := ""
	if o.Kubeconfig == "" {
		ca = filepath.Join(o.Dir, "ca.crt")
		args = append(args, "--ca-file", ca)
	} else {
		env = append(env, "KUBECONFIG="+o.Kubeconfig)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = o.Dir, env
	p, err := start("injector", filepath.Join(o.Dir, "injector.log"), cmd)
	if err != nil {
		return nil, err
	}
	i := &Injector{Process: p, CAFile: ca}
	if err := i.waitFor(ctx, startTime, i.ready); err != nil {
		p.Kill()
		return nil, err
	}
	return i, nil
}

// ready finds in the log where the injector listens, and asks whether it is
// ready.
func (i *Injector) ready(ctx context.Context) error {
	if i.Monitoring == "" {
		for line := range bytes.Lines(i.Log()) {
			var entry struct{ Msg, Webhook, Monitoring string }
			if json.Unmarshal(line, &entry) == nil && entry.Msg == "serving" {
				i.URL, i.Monitoring = "https://"+entry.Webhook+"/inject", "http://"+entry.Monitoring
			}
		}
	}
	if i.Monitoring == "" {
		return fmt.Errorf("it does not serve yet")
	}
	return answers(ctx, i.Monitoring+"/readyz")
}
