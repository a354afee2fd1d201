// Package credentials stores the user's tokens for servers, by origin, in a private file. A token
// is sent to no other origin.
package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	privateFolder = 0o700
	privateFile   = 0o600
	// revision of the file format.
	revision = 1
)

// Store is a file of credentials, which may not exist yet.
type Store struct{ path string }

// At returns the store in a user's settings folder, such as ~/.config.
func At(settings string) Store { return Store{filepath.Join(settings, "repomcp", "credentials.json")} }

// Path returns the path of the file.
func (s Store) Path() string { return s.path }

// document is the content of the file.
type document struct {
	Version int              `json:"version"`
	Origins map[string]entry `json:"origins"`
}

type entry struct {
	Token string `json:"token"`
}

// Token returns the token for an origin, or "".
func (s Store) Token(origin string) (string, error) {
	d, err := s.read()
	return d.Origins[origin].Token, err
}

// Keep stores or replaces the token for an origin.
func (s Store) Keep(origin, token string) error {
	d, err := s.read()
	if err != nil {
		return err
	}
	if d.Origins == nil {
		d.Origins = make(map[string]entry)
	}
	d.Origins[origin] = entry{Token: token}
	return s.write(d)
}

// Forget removes the token for an origin, and reports whether there was one.
func (s Store) Forget(origin string) (bool, error) {
	d, err := s.read()
	if err != nil || d.Origins[origin].Token == "" {
		return false, err
	}
	delete(d.Origins, origin)
	return true, s.write(d)
}

func (s Store) read() (d document, err error) {
	text, err := os.ReadFile(s.path)
	// The home of a service is often no folder, such as /dev/null.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return document{Version: revision}, nil
	}
	if err != nil {
		return d, fmt.Errorf("credentials: %w", err)
	}
	// A detailed message could contain a token.
	if json.Unmarshal(text, &d) != nil || d.Version != revision {
		return d, fmt.Errorf("credentials: %s is not in the form that is known here; move it away and log in again",
			s.path)
	}
	return d, nil
}

// write replaces the file atomically.
func (s Store) write(d document) (err error) {
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "credentials-*") // readable by this user only
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the first error matters
		}
	}()
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Chmod(privateFile), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return os.Rename(file.Name(), s.path)
}

// schemes maps URL schemes to those of origins.
var schemes = map[string]string{"http": "http", "https": "https", "ws": "http", "wss": "https"}

// ports are the default ports of schemes.
var ports = map[string]string{"http": "80", "https": "443"}

// Origin returns scheme, host and port of an address in canonical form; "" if the address has no
// origin, such as that of a local program.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || schemes[u.Scheme] == "" || u.Hostname() == "" {
		return ""
	}
	scheme, host, port := schemes[u.Scheme], strings.ToLower(u.Hostname()), u.Port()
	if port == "" || port == ports[scheme] {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return scheme + "://" + host
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
