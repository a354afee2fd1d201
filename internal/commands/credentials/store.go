// Package credentials keeps the tokens with which this user asks servers: in a file of the
// user alone, by the origin that each is for. A token goes to no other.
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
	// revision of the file's form.
	revision = 1
)

// Store is a file of credentials, which may not be there yet.
type Store struct{ path string }

// At is the store in a user's folder of settings, such as ~/.config.
func At(settings string) Store { return Store{filepath.Join(settings, "repomcp", "credentials.json")} }

// Path is where the file is.
func (s Store) Path() string { return s.path }

// document is the file.
type document struct {
	Version int              `json:"version"`
	Origins map[string]entry `json:"origins"`
}

type entry struct {
	Token string `json:"token"`
}

// Token returns that for an origin, or "".
func (s Store) Token(origin string) (string, error) {
	d, err := s.read()
	return d.Origins[origin].Token, err
}

// Keep stores a token for an origin, in place of one that was there.
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

// Forget takes away the token for an origin, and reports whether there was one.
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
	// Services often have a home that is no folder, such as /dev/null.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return document{Version: revision}, nil
	}
	if err != nil {
		return d, fmt.Errorf("credentials: %w", err)
	}
	// What is wrong with it is not told: the message could have a token in it.
	if json.Unmarshal(text, &d) != nil || d.Version != revision {
		return d, fmt.Errorf("credentials: %s is not in the form that is known here; move it away and log in again",
			s.path)
	}
	return d, nil
}

// write replaces the file, whole or not at all.
func (s Store) write(d document) (err error) {
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "credentials-*") // of this user alone
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what failed is told already
		}
	}()
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Chmod(privateFile), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return os.Rename(file.Name(), s.path)
}

// schemes are those of URLs that are the same server's, by that of the origin.
var schemes = map[string]string{"http": "http", "https": "https", "ws": "http", "wss": "https"}

// ports are those of schemes that name none.
var ports = map[string]string{"http": "80", "https": "443"}

// Origin is scheme, host and port of an address, in one form; "" where it has none, such as
// that of a program on this machine.
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
