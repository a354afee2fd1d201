package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/repomcp/repomcp/internal/links"
)

const (
	// minSessionKey and minDistinct distinguish a secure key from a short one or a placeholder, as
	// the server and package links do.
	minSessionKey = 32
	minDistinct   = 8
	// soon is the remaining lifetime at which a certificate should have been renewed.
	soon = 14 * 24 * time.Hour
)

// readers warns of a secret that other users can read or change.
func (e *examination) readers(file string) {
	info, err := os.Stat(file)
	if err != nil {
		return // reading it reports the error
	}
	switch rights := info.Mode().Perm(); {
	case rights&0o002 != 0:
		e.fault(file, "every user of this machine can write the secret", "chmod o-rw")
	case rights&0o004 != 0:
		e.warn(file, "every user of this machine can read the secret", "chmod o-r")
	}
}

func (e *examination) checkSessionKey(context.Context) {
	if e.SessionKey == "" {
		if e.Redis != "" || e.LinkKeys != "" && e.PublicURL != "" {
			e.warn("", "session ids are good at this server alone: there is no --session-key-file",
				"give all servers the same file")
		}
		return
	}
	e.readers(e.SessionKey)
	key, err := os.ReadFile(e.SessionKey)
	if err != nil {
		e.fault("--session-key-file", err.Error(), "openssl rand -base64 48 makes a key")
		return
	}
	key = bytes.TrimSpace(key)
	seen := make(map[byte]bool)
	for _, c := range key {
		seen[c] = true
	}
	switch {
	case len(key) < minSessionKey:
		e.fault(e.SessionKey, fmt.Sprintf("the key has %d bytes and needs %d", len(key), minSessionKey),
			"openssl rand -base64 48")
	case len(seen) < minDistinct:
		e.fault(e.SessionKey, "the key is not random", "openssl rand -base64 48")
	}
	if e.quiet() {
		e.ok(fmt.Sprintf("%d bytes", len(key)))
	}
}

func (e *examination) checkLinkKeys(context.Context) {
	if e.LinkKeys == "" {
		if e.PublicURL != "" {
			e.warn("", "links end with the process: there is no --link-key-file",
				"repomcp serve --help has the form of its lines")
		}
		return
	}
	e.readers(e.LinkKeys)
	ring, err := links.LoadKeyring(e.LinkKeys)
	if err != nil {
		e.fault("--link-key-file", err.Error(), notStarted)
		return
	}
	keys, now := ring.Keys(), e.now()
	signer := -1
	for i, key := range keys {
		if !key.From.After(now) {
			signer = i
		}
	}
	if signer < 0 {
		e.fault(e.LinkKeys, "no key signs yet: the first begins at "+keys[0].From.Format(time.RFC3339),
			"add a key with a date that has come")
		return
	}
	if old := signer; old > 0 && now.Sub(keys[signer].From) > links.MaxLifetime {
		e.warn(e.LinkKeys, counted(old, "key has", "keys have")+" retired, and all links that they signed expired",
			"remove "+keys[0].ID+" and what else is older than "+keys[signer].ID)
	}
	if e.quiet() {
		e.ok(fmt.Sprintf("%s signs, of %s", keys[signer].ID, counted(len(keys), "key", "keys")))
	}
}

func (e *examination) checkCertificate(context.Context) {
	if e.TLSCert == "" && e.TLSKey == "" {
		return
	}
	e.readers(e.TLSKey)
	pair, err := tls.LoadX509KeyPair(e.TLSCert, e.TLSKey)
	if err != nil {
		e.fault("--tls-cert and --tls-key", err.Error(),
			"name the certificate with its chain, and the key that it was made for")
		return
	}
	leaf := pair.Leaf
	switch left := leaf.NotAfter.Sub(e.now()); {
	case left <= 0:
		e.fault(e.TLSCert, "the certificate expired on "+leaf.NotAfter.Format(time.DateOnly), "renew it")
	case e.now().Before(leaf.NotBefore):
		e.fault(e.TLSCert, "the certificate begins on "+leaf.NotBefore.Format(time.DateOnly), "set the clock, or wait")
	case left < soon:
		e.warn(e.TLSCert, "the certificate expires in "+days(left), "renew it, and send SIGHUP")
	}
	e.checkNames(leaf)
	if e.quiet() {
		e.ok("the certificate is good until " + leaf.NotAfter.Format(time.DateOnly))
	}
}

// checkNames compares the certificate with the names that clients use.
func (e *examination) checkNames(leaf *x509.Certificate) {
	names := e.AllowedHosts
	if host := e.publicHost(); host != "" {
		names = append([]string{host}, names...)
	}
	for _, name := range names {
		if err := leaf.VerifyHostname(name); err != nil {
			e.warn(e.TLSCert, "the certificate is not for "+name, "have it made for all names of --public-url and "+
				"--allowed-host")
		}
	}
}
