package checkout

import (
	"errors"
	"net/url"
	"strings"
)

// maxURLBytes bounds the URL of a remote.
const maxURLBytes = 1024

// errURL refuses the URL of a remote.
var errURL = errors.New("is no URL of a remote repository: write https://, http://, ssh:// or git:// with a host, " +
	"or HOST:PATH, without a password and, except for ssh, without a user")

// Remote is where a checkout comes from. The zero value is none.
type Remote struct {
	URL string
	// PushURL is where changes go, if that is another place.
	PushURL string
	// Promises says that git fetches missing files from there (git-clone(1), --filter=blob:none).
	Promises bool
}

// CheckURL refuses what is no URL of a remote (git-fetch(1), "GIT URLS") that any machine can use:
// paths of one machine, and the transports that run commands. Neither may it have credentials; the
// user of ssh is none, since hosts give all their users the same.
func CheckURL(remote string) error {
	if len(remote) > maxURLBytes || strings.HasPrefix(remote, "-") || strings.ContainsFunc(remote, unprintable) {
		return errURL
	}
	if !strings.Contains(remote, "://") {
		if !isHostPath(remote) {
			return errURL
		}
		return nil
	}
	u, err := url.Parse(remote)
	if err != nil || !isShared[u.Scheme] || u.Hostname() == "" || strings.HasPrefix(u.Host, "-") {
		return errURL
	}
	if _, secret := u.User.Password(); secret || u.User != nil && u.Scheme != "ssh" ||
		strings.HasPrefix(u.User.Username(), "-") {
		return errURL
	}
	return nil
}

// isShared has the transports that reach other machines.
var isShared = map[string]bool{"https": true, "http": true, "ssh": true, "git": true}

// unprintable reports whether a character is a control character, or a blank.
func unprintable(c rune) bool { return c <= ' ' || c == 0x7f }

// isHostPath reports whether a URL has the form [USER@]HOST:PATH. A host of one letter is a drive.
func isHostPath(remote string) bool {
	host, path, ok := strings.Cut(remote, ":")
	host = host[strings.LastIndexByte(host, '@')+1:]
	return ok && len(host) > 1 && path != "" && !strings.ContainsAny(host, "/\\") && !strings.HasPrefix(host, "-") &&
		!strings.HasPrefix(path, ":") // a remote helper: gitremote-helpers(7)
}
