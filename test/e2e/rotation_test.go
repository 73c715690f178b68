package e2e

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
	number "math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

// signer is a certificate authority of a test.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newSigner makes an authority of some age. Two of the same name and key verify
// the same certificates.
func newSigner(t testing.TB, name string, key *ecdsa.PrivateKey, age time.Duration) *signer {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	s := &signer{key: key}
	s.cert = s.sign(t, template, template, key, age)
	return s
}

// issue makes a certificate of some age for a server, and its key, PEM.
func (s *signer) issue(t testing.TB, names []string, ips []net.IP, age time.Duration) (cert, key []byte) {
	t.Helper()
	private := newKey(t)
	leaf := s.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "injector"}, DNSNames: names, IPAddresses: ips,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, s.cert, private, age)
	return certPEM(leaf), keyPEM(t, private)
}

func (s *signer) sign(t testing.TB, template, parent *x509.Certificate, key *ecdsa.PrivateKey, age time.Duration) *x509.Certificate {
	t.Helper()
	now := time.Now()
	template.SerialNumber = number.NewInt(now.UnixNano())
	template.NotBefore, template.NotAfter = now.Add(-age), now.Add(365*24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func certPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func keyPEM(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// awaitSignature waits until an injector serves with a certificate of an
// authority, and returns that.
func awaitSignature(t testing.TB, i *controlplane.Injector, by *signer) *x509.Certificate {
	t.Helper()
	var leaf *x509.Certificate
	eventually(t, "waiting for the certificate of "+by.cert.Subject.CommonName, func(ctx context.Context) error {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // it is looked at
		conn, err := d.DialContext(ctx, "tcp", strings.TrimSuffix(strings.TrimPrefix(i.URL, "https://"), "/inject"))
		if err != nil {
			return err
		}
		defer conn.Close()
		leaf = conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		return leaf.CheckSignatureFrom(by.cert)
	})
	return leaf
}

// mount makes the files of a mounted Secret, as a kubelet does: a new folder, to
// which a link is swapped.
func mount(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(version, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, name)
		if err := os.Symlink(filepath.Join("..data", name), link); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	next := filepath.Join(dir, "..data.next")
	if err := errors.Join(os.Symlink(filepath.Base(version), next), os.Rename(next, filepath.Join(dir, "..data"))); err != nil {
		t.Fatal(err)
	}
}

func wantSidecar(p *corev1.Pod) error {
	if !injected(p) {
		return fmt.Errorf("a pod has %s", shape(p))
	}
	return nil
}

// TestCertificateFiles has certificates from files, as cert-manager fills them:
// while pods are made, others take their place, of another authority, which the
// API server was told before. No pod is refused.
func TestCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	authority := newSigner(t, "authority 0", newKey(t), time.Hour)
	files := func(s *signer) map[string][]byte {
		cert, key := s.issue(t, []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}, time.Hour)
		return map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": certPEM(s.cert)}
	}
	mount(t, dir, files(authority))
	i := startInjector(t, controlplane.InjectorOptions{
		CAFile: filepath.Join(dir, "ca.crt"),
		Args:   []string{"--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-key-file", filepath.Join(dir, "tls.key")},
	})
	askFor(t, i, "default")
	ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
	awaitInjection(t, ns, true)
	l := startLoad(t, ns, wantSidecar)
	l.more(t, 20)
	trust := func(signers ...*signer) {
		t.Helper()
		var bundle []byte
		for _, s := range signers {
			bundle = append(bundle, certPEM(s.cert)...)
		}
		reconfigure(t, webhookOf("default"), func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = bundle })
		l.more(t, 20)
	}
	for n := 1; n <= 2; n++ {
		next := newSigner(t, fmt.Sprintf("authority %d", n), newKey(t), time.Hour)
		trust(authority, next)
		mount(t, dir, files(next))
		awaitSignature(t, i, next)
		l.more(t, 20)
		authority = next
	}
	// Once more, but the key is another's: the one before stays.
	broken := files(authority)
	broken["tls.key"] = keyPEM(t, newKey(t))
	mount(t, dir, broken)
	eventually(t, "waiting for a refusal", func(context.Context) error {
		if !bytes.Contains(i.Log(), []byte("the certificate is refused")) {
			return errors.New("the injector does not tell of one")
		}
		return nil
	})
	trust(authority)
	l.end()
	for _, text := range l.errors() {
		t.Error(text)
	}
}

// TestCertificateRotation has the injector's own certificates, in a Secret that
// is made older than it is. While pods are made, a new authority comes, signs
// when it is a day old, and is the only one when its certificate is. No pod is
// refused.
func TestCertificateRotation(t *testing.T) {
	const name = "ingraft-injector-green"
	ns := namespace(t, "shop", map[string]string{"istio.io/rev": "green"})
	i := startInjector(t, controlplane.InjectorOptions{Kubeconfig: plane.Kubeconfig, Args: []string{
		"-n", ns, "--secret", name, "--webhook-config", name, "--revision", "green",
		"--injectConfigFile", testdata(t, "inject.yaml"), "--valuesFile", testdata(t, "values.json"),
	}})
	askFor(t, i, "green")
	awaitInjection(t, ns, true)
	secrets := plane.Client.CoreV1().Secrets(ns)
	secret, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, ns, wantSidecar)
	l.more(t, 20)
	put := func(data map[string][]byte) {
		t.Helper()
		patch, err := json.Marshal(map[string]any{"data": data})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := secrets.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	trusted := func(want []byte) {
		t.Helper()
		eventually(t, "waiting for the caBundle", func(ctx context.Context) error {
			w, err := plane.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for i := range w.Webhooks {
				if h := &w.Webhooks[i]; !bytes.Equal(bytes.TrimSpace(h.ClientConfig.CABundle), bytes.TrimSpace(want)) {
					return fmt.Errorf("that of %s is not what the Secret has", h.Name)
				}
			}
			return nil
		})
		l.more(t, 20)
	}
	const dayAndHour = 25 * time.Hour
	key := newKey(t)
	both := func(next *signer) map[string][]byte {
		return map[string][]byte{
			"ca.crt": append(bytes.Clone(secret.Data["ca.crt"]), certPEM(next.cert)...),
			"ca.key": append(bytes.Clone(secret.Data["ca.key"]), keyPEM(t, key)...),
		}
	}
	fresh := newSigner(t, "next authority", key, 0)
	data := both(fresh)
	put(data)
	trusted(data["ca.crt"])

	old := newSigner(t, "next authority", key, dayAndHour)
	data = both(old)
	put(data)
	leaf := awaitSignature(t, i, old)
	trusted(data["ca.crt"])

	cert, private := old.issue(t, leaf.DNSNames, leaf.IPAddresses, dayAndHour)
	put(map[string][]byte{"tls.crt": cert, "tls.key": private})
	trusted(certPEM(old.cert))
	if now := awaitSignature(t, i, old); now.Equal(leaf) {
		t.Error("the injector serves with the certificate that the Secret had before")
	}
	l.more(t, 20)
	l.end()
	for _, text := range l.errors() {
		t.Error(text)
	}
}
