package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/commands/cli"
)

// certificate is the server's certificate, from two files. It may be reloaded while in use.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// checkCertificate refuses one flag without the other.
func (f serveFlags) checkCertificate() error {
	if (f.tlsCert == "") == (f.tlsKey == "") {
		return nil
	}
	return cli.Misused(errors.New("--tls-cert and --tls-key go together: the certificate with its chain, and its key"))
}

// certificate loads the files; it returns nil if there are none.
func (f serveFlags) certificate() (*certificate, error) {
	if err := f.checkCertificate(); err != nil || f.tlsCert == "" {
		return nil, err
	}
	c := &certificate{certFile: f.tlsCert, keyFile: f.tlsKey}
	if err := c.reload(); err != nil {
		return nil, cli.Misused(err)
	}
	return c, nil
}

// reload reads both files. If they do not match, the previous certificate stays.
func (c *certificate) reload() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

// config returns nil without a certificate.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
