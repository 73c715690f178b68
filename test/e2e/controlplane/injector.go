package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

	host *Host
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
	// CAFile is what its certificate is checked with, where Args say which that
	// is.
	CAFile string
	// Host is where it runs, on the ports of a pod; nil for this machine's
	// loopback.
	Host *Host
	// Env are further variables.
	Env []string
	// Args are further flags.
	Args []string
}

// StartInjector starts an injector and waits until it is ready.
func StartInjector(ctx context.Context, program string, o InjectorOptions) (*Injector, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	args := []string{"injector", "serve", "--drain", "0s"}
	if o.Host == nil {
		args = append(args, "--listen", o.Address, "--monitoring-listen", "127.0.0.1:0")
	}
	args = append(args, o.Args...)
	env := append([]string{"HOME=" + o.Dir, "PATH=" + os.Getenv("PATH")}, o.Env...)
	ca := o.CAFile
	if o.Kubeconfig != "" {
		env = append(env, "KUBECONFIG="+o.Kubeconfig)
	} else if ca == "" {
		ca = filepath.Join(o.Dir, "ca.crt")
		args = append(args, "--ca-file", ca)
	}
	cmd := exec.Command(program, args...)
	if o.Host != nil {
		cmd = o.Host.command(program, args...)
	}
	cmd.Dir, cmd.Env = o.Dir, env
	p, err := start("injector", filepath.Join(o.Dir, "injector.log"), cmd)
	if err != nil {
		return nil, err
	}
	i := &Injector{Process: p, CAFile: ca, host: o.Host}
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
				if i.host != nil { // where it listens on all of its addresses
					entry.Webhook = strings.Replace(entry.Webhook, "[::]", i.host.Address, 1)
					entry.Monitoring = strings.Replace(entry.Monitoring, "[::]", i.host.Address, 1)
				}
				i.URL, i.Monitoring = "https://"+entry.Webhook+"/inject", "http://"+entry.Monitoring
			}
		}
	}
	if i.Monitoring == "" {
		return fmt.Errorf("it does not serve yet")
	}
	return answers(ctx, i.Monitoring+"/readyz")
}
