package controlplane

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// startTime is how long each program has until it is ready, on a machine that
// has other things to do.
const startTime = 90 * time.Second

// controllers are those that make, replace and remove pods, and what they need.
var controllers = []string{
	"deployment-controller", "replicaset-controller", "replicationcontroller-controller", "statefulset-controller",
	"daemonset-controller", "job-controller", "cronjob-controller", "namespace-controller",
	"serviceaccount-controller", "garbage-collector-controller", "endpointslice-controller",
}

// ControlPlane is a control plane that runs.
type ControlPlane struct {
	// Client has all rights, Kubeconfig is a file for kubectl that has, too.
	Client     *kubernetes.Clientset
	Kubeconfig string
	// Dir is a folder for files of the tests; it goes away with the control
	// plane.
	Dir string

	bin                      Binaries
	ca                       *authority
	server                   string
	etcdPort, peerPort       int
	apiPort                  int
	etcd, apiserver, manager *Process
	kubelet                  *Kubelet
}

// Start starts a control plane and waits until it is ready. Stop must be
// called, unless there is an error.
func Start(ctx context.Context, bin Binaries) (c *ControlPlane, err error) {
	c = &ControlPlane{bin: bin}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.Dir, err = os.MkdirTemp("", "ingraft-e2e-"); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	if err = c.prepare(); err != nil {
		return nil, err
	}
	if err = c.startEtcd(ctx); err != nil {
		return nil, err
	}
	if err = c.startAPIServer(ctx); err != nil {
		return nil, err
	}
	if err = c.startManager(ctx); err != nil {
		return nil, err
	}
	c.kubelet = startKubelet(c.Client)
	return c, nil
}

// file returns the path of a file of the control plane.
func (c *ControlPlane) file(name string) string { return filepath.Join(c.Dir, name) }

// prepare chooses ports and writes keys, certificates and kubeconfigs.
func (c *ControlPlane) prepare() (err error) {
	if c.ca, err = newAuthority(); err != nil {
		return err
	}
	for _, port := range []*int{&c.etcdPort, &c.peerPort, &c.apiPort} {
		if *port, err = freePort(); err != nil {
			return err
		}
	}
	c.server = fmt.Sprintf("https://127.0.0.1:%d", c.apiPort)
	cert, key, err := c.ca.issue(x509.ExtKeyUsageServerAuth, "kube-apiserver")
	if err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	signing, err := encodeKey(accounts)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(accounts.Public())
	if err != nil {
		return fmt.Errorf("encoding the key of service accounts: %w", err)
	}
	for name, data := range map[string][]byte{
		"ca.crt": c.ca.pem, "apiserver.crt": cert, "apiserver.key": key, "sa.key": signing,
		"sa.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	} {
		if err := os.WriteFile(c.file(name), data, 0o600); err != nil {
			return fmt.Errorf("writing keys: %w", err)
		}
	}
	if c.Kubeconfig, err = c.User("admin", "system:masters"); err != nil {
		return err
	}
	if _, err = c.User("system:kube-controller-manager"); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	config.QPS = -1 // as fast as the test likes
	c.Client, err = kubernetes.NewForConfig(rest.AddUserAgent(config, "e2e"))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	return nil
}

// User writes a kubeconfig for a user of some groups, and returns its path.
func (c *ControlPlane) User(name string, groups ...string) (string, error) {
	cert, key, err := c.ca.issue(x509.ExtKeyUsageClientAuth, name, groups...)
	if err != nil {
		return "", err
	}
	return c.kubeconfig(name, &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

// ServiceAccount writes a kubeconfig for a service account, and returns its
// path.
func (c *ControlPlane) ServiceAccount(ctx context.Context, namespace, name string) (string, error) {
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making a token for service account %s/%s: %w", namespace, name, err)
	}
	return c.kubeconfig(name, &clientcmdapi.AuthInfo{Token: token.Status.Token})
}

func (c *ControlPlane) kubeconfig(user string, credentials *clientcmdapi.AuthInfo) (string, error) {
	file := c.file(strings.ReplaceAll(user, ":", "-") + ".kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"e2e": {Server: c.server, CertificateAuthorityData: c.ca.pem}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: credentials},
		Contexts:       map[string]*clientcmdapi.Context{"e2e": {Cluster: "e2e", AuthInfo: user}},
		CurrentContext: "e2e",
	}, file)
	if err != nil {
		return "", fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return file, nil
}

func (c *ControlPlane) startEtcd(ctx context.Context) (err error) {
	client, peers := fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort), fmt.Sprintf("http://127.0.0.1:%d", c.peerPort)
	c.etcd, err = start("etcd", c.file("etcd.log"), exec.Command(c.bin.Path("etcd"),
		"--data-dir="+c.file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers))
	if err != nil {
		return err
	}
	return c.etcd.waitFor(ctx, startTime, func(ctx context.Context) error { return answers(ctx, client+"/health") })
}

// answers is nil if a URL answers 200.
func answers(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, a.Status)
	}
	return nil
}

func (c *ControlPlane) startAPIServer(ctx context.Context) (err error) {
	c.apiserver, err = start("kube-apiserver", c.file("apiserver.log"), exec.Command(c.bin.Path("kube-apiserver"),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.etcdPort), "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.apiPort),
		// The endpoint of the service kubernetes may not be on the loopback.
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/16",
		// Nobody makes the addresses of Services lead anywhere; so webhooks behind
		// one are asked at its endpoints.
		"--enable-aggregator-routing",
		"--tls-cert-file="+c.file("apiserver.crt"), "--tls-private-key-file="+c.file("apiserver.key"), "--client-ca-file="+c.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.file("sa.pub"),
		"--service-account-signing-key-file="+c.file("sa.key"), "--authorization-mode=RBAC", "--profiling=false"))
	if err != nil {
		return err
	}
	return c.apiserver.waitFor(ctx, startTime, func(ctx context.Context) error {
		return c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

func (c *ControlPlane) startManager(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	kubeconfig := c.file("system-kube-controller-manager.kubeconfig")
	c.manager, err = start("kube-controller-manager", c.file("manager.log"), exec.Command(c.bin.Path("kube-controller-manager"),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--leader-elect=false", "--profiling=false",
		"--use-service-account-credentials", "--service-account-private-key-file="+c.file("sa.key"), "--root-ca-file="+c.file("ca.crt"),
		"--controllers="+strings.Join(controllers, ","), "--kube-api-qps=500", "--kube-api-burst=1000"))
	if err != nil {
		return err
	}
	return c.manager.waitFor(ctx, startTime, func(ctx context.Context) error {
		// Pods cannot be made before their service account is there.
		_, err := c.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// Restart kills the API server, which would wait for those who watch, ends
// etcd, and starts both on the same ports and data.
func (c *ControlPlane) Restart(ctx context.Context) error {
	c.apiserver.Kill()
	if err := c.etcd.Stop(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	return c.startAPIServer(ctx)
}

// Stop ends all programs and removes all files.
func (c *ControlPlane) Stop() error {
	c.kubelet.stop()
	err := errors.Join(c.manager.Stop(), c.apiserver.Stop(), c.etcd.Stop())
	if c.Dir != "" {
		err = errors.Join(err, os.RemoveAll(c.Dir))
	}
	return err
}

// Logs returns the last lines of all programs.
func (c *ControlPlane) Logs() string {
	var b strings.Builder
	for _, p := range []*Process{c.etcd, c.apiserver, c.manager} {
		if p != nil {
			b.WriteString(p.Tail(25))
		}
	}
	return b.String()
}

// Kubectl runs kubectl, with something on its standard input. Its cache is of
// this control plane alone. An error has what it wrote to standard error.
func (c *ControlPlane) Kubectl(ctx context.Context, kubeconfig, stdin string, args ...string) (stdout, stderr string, err error) {
	return run(ctx, exec.CommandContext(ctx, c.bin.Path("kubectl"), args...), stdin, "KUBECONFIG="+kubeconfig, "HOME="+c.Dir)
}

// Shell runs a line of shell as the administrator, with kubectl and the program
// under test on the path. An error has what it wrote to standard error.
func (c *ControlPlane) Shell(ctx context.Context, program, line string) error {
	path := fmt.Sprintf("PATH='%s:%s':$PATH\n", filepath.Dir(program), c.bin)
	_, _, err := run(ctx, exec.CommandContext(ctx, "sh", "-c", path+line), "", "KUBECONFIG="+c.Kubeconfig, "HOME="+c.Dir)
	return err
}

// run runs a command in an environment of its own.
func run(_ context.Context, cmd *exec.Cmd, stdin string, env ...string) (stdout, stderr string, err error) {
	var out, talk bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(stdin), &out, &talk, append(env, "PATH="+os.Getenv("PATH"))
	if err := cmd.Run(); err != nil {
		return out.String(), talk.String(), fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, talk.String())
	}
	return out.String(), talk.String(), nil
}
