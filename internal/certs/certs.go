// Package certs makes a certificate authority and the certificates that a
// webhook serves with, and decides when to make the next ones.
//
// A change of the authority must not be noticed: whoever calls the webhook
// trusts a bundle that reaches him later than the webhook has it. So a new
// authority is in the bundle for a while before it signs anything (Policy.Overlap),
// and the old one stays in it for a while after its last certificate was
// replaced.
package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// Policy says how long certificates live.
type Policy struct {
	// Authority and Serving are lifetimes. A certificate is replaced when a
	// third of its life is left.
	Authority, Serving time.Duration
	// Overlap is how long it may take until everybody who calls the webhook
	// trusts a new authority.
	Overlap time.Duration
}

// DefaultPolicy lets an authority live for a year, a serving certificate for a
// month, and gives a new authority a day to become known.
var DefaultPolicy = Policy{Authority: 365 * 24 * time.Hour, Serving: 30 * 24 * time.Hour, Overlap: 24 * time.Hour}

// skew is how far the clocks of a cluster may be apart: certificates are valid
// from that long ago.
const skew = 10 * time.Minute

// State is what there is of certificates at a time. It does not change.
type State struct {
	// authorities are trusted, the oldest first.
	authorities []authority
	serving     *tls.Certificate // Leaf is set
	key         []byte           // of serving, PEM
}

type authority struct {
	cert *x509.Certificate
	key  crypto.Signer // nil once it signs no more
}

// Next returns the state that should be, of the one that is, which may be nil:
// itself where nothing has to be done. names are DNS names and IP addresses of
// the webhook.
func (p Policy) Next(s *State, names []string, now time.Time) (*State, error) {
	next := &State{}
	if s != nil {
		*next = State{slices.Clone(s.authorities), s.serving, s.key}
	}
	next.authorities = slices.DeleteFunc(next.authorities, func(a authority) bool { return now.After(a.cert.NotAfter) })
	if newest := next.newest(); newest == nil || newest.key == nil || aged(newest.cert, now) {
		a, err := newAuthority(now, p.Authority)
		if err != nil {
			return nil, fmt.Errorf("making a certificate authority: %w", err)
		}
		next.authorities = append(next.authorities, a)
	}
	signer := p.signer(next.authorities, now)
	if !next.serves(signer, names, now) {
		if err := next.issue(signer, names, now, p.Serving); err != nil {
			return nil, fmt.Errorf("making a serving certificate: %w", err)
		}
	}
	// Those before the signer are needed until no replica serves with a
	// certificate of theirs.
	if now.Sub(next.serving.Leaf.NotBefore) > p.Overlap+skew {
		at := slices.IndexFunc(next.authorities, func(a authority) bool { return a.cert.Equal(signer.cert) })
		next.authorities = next.authorities[at:]
	}
	if s != nil && s.serving == next.serving && slices.Equal(s.authorities, next.authorities) {
		return s, nil
	}
	return next, nil
}

func (s *State) newest() *authority {
	if len(s.authorities) == 0 {
		return nil
	}
	return &s.authorities[len(s.authorities)-1]
}

// signer returns the newest authority that everybody knows; where none is so
// old, the oldest that can sign.
func (p Policy) signer(list []authority, now time.Time) *authority {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].key != nil && now.Sub(list[i].cert.NotBefore) >= p.Overlap+skew {
			return &list[i]
		}
	}
	for i := range list {
		if list[i].key != nil {
			return &list[i]
		}
	}
	return nil
}

// aged tells a certificate of whose life at most a third is left.
func aged(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3))
}

// serves tells whether the serving certificate will do.
func (s *State) serves(signer *authority, names []string, now time.Time) bool {
	if s.serving == nil || now.Before(s.serving.Leaf.NotBefore) || aged(s.serving.Leaf, now) {
		return false
	}
	leaf := s.serving.Leaf
	if leaf.CheckSignatureFrom(signer.cert) != nil {
		return false
	}
	dns, ips := split(names)
	return slices.Equal(leaf.DNSNames, dns) && slices.EqualFunc(leaf.IPAddresses, ips, net.IP.Equal)
}

func split(names []string) (dns []string, ips []net.IP) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, name)
		}
	}
	return dns, ips
}

func newAuthority(now time.Time, life time.Duration) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	serial, err := newSerial()
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "ingraft injector CA " + serial.Text(36), Organization: []string{"ingraft"}},
		NotBefore:    now.Add(-skew), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	cert, err := create(template, template, key.Public(), key)
	return authority{cert, key}, err
}

// issue gives the state a serving certificate that does not outlive its signer.
func (s *State) issue(signer *authority, names []string, now time.Time, life time.Duration) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := newSerial()
	if err != nil {
		return err
	}
	end := now.Add(life)
	if end.After(signer.cert.NotAfter) {
		end = signer.cert.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "ingraft injector", Organization: []string{"ingraft"}},
		NotBefore: now.Add(-skew), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	template.DNSNames, template.IPAddresses = split(names)
	leaf, err := create(template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	s.serving = &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
	s.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return nil
}

func create(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// newSerial returns a random serial number of 127 bits.
func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

// Serving returns the certificate to serve with.
func (s *State) Serving() *tls.Certificate { return s.serving }

// Expires returns when the certificate to serve with ends.
func (s *State) Expires() time.Time { return s.serving.Leaf.NotAfter }

// Bundle returns the certificates to trust, as PEM.
func (s *State) Bundle() []byte {
	var b bytes.Buffer
	for _, a := range s.authorities {
		writePEM(&b, "CERTIFICATE", a.cert.Raw)
	}
	return b.Bytes()
}

func writePEM(b *bytes.Buffer, kind string, der []byte) {
	_ = pem.Encode(b, &pem.Block{Type: kind, Bytes: der}) // a Buffer takes everything
}

// The keys of a Secret that a state is kept in; the last two are those of a
// Secret of type kubernetes.io/tls.
const (
	KeyBundle      = "ca.crt"
	KeyAuthorities = "ca.key"
	KeyServing     = "tls.crt"
	KeyServingKey  = "tls.key"
)

// Encode returns the state as the data of a Secret. KeyAuthorities holds the
// keys of the authorities in the order of the bundle.
func (s *State) Encode() (map[string][]byte, error) {
	var keys, serving bytes.Buffer
	for _, a := range s.authorities {
		if a.key == nil {
			return nil, errors.New("an authority has no key")
		}
		der, err := x509.MarshalPKCS8PrivateKey(a.key)
		if err != nil {
			return nil, err
		}
		writePEM(&keys, "PRIVATE KEY", der)
	}
	writePEM(&serving, "CERTIFICATE", s.serving.Certificate[0])
	return map[string][]byte{
		KeyBundle: s.Bundle(), KeyAuthorities: keys.Bytes(),
		KeyServing: serving.Bytes(), KeyServingKey: s.key,
	}, nil
}

// Decode reads what Encode wrote. What does not fit together is an error, and
// to be made anew.
func Decode(data map[string][]byte) (*State, error) {
	s := &State{key: data[KeyServingKey]}
	keys := data[KeyAuthorities]
	for rest := data[KeyBundle]; ; {
		var block, keyBlock *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", KeyBundle, err)
		}
		if keyBlock, keys = pem.Decode(keys); keyBlock == nil {
			return nil, fmt.Errorf("reading %s: there are fewer keys than certificates", KeyAuthorities)
		}
		key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", KeyAuthorities, err)
		}
		signer, ok := key.(*ecdsa.PrivateKey)
		if !ok || !signer.PublicKey.Equal(cert.PublicKey) {
			return nil, fmt.Errorf("reading %s: a key does not belong to its certificate", KeyAuthorities)
		}
		s.authorities = append(s.authorities, authority{cert, signer})
	}
	if len(s.authorities) == 0 {
		return nil, fmt.Errorf("reading %s: there is no certificate", KeyBundle)
	}
	serving, err := tls.X509KeyPair(data[KeyServing], s.key)
	if err != nil {
		return nil, fmt.Errorf("reading %s and %s: %w", KeyServing, KeyServingKey, err)
	}
	s.serving = &serving
	return s, nil
}

// Trusts reports whether whoever trusts a bundle, PEM, takes what is served.
func Trusts(bundle []byte, s *State, now time.Time) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := s.serving.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now})
	return err == nil
}

// Equal reports whether two states serve and trust the same.
func (s *State) Equal(o *State) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.serving.Leaf.Equal(o.serving.Leaf) && bytes.Equal(s.Bundle(), o.Bundle())
}
