package repos

import "net/url"

// Origin is the address that the mirror was cloned from, without a password or token, for messages to clients. It is
// "" if there is none, or one on this machine.
func (r *Repository) Origin() (string, error) {
	values, err := r.git.Configured("remote.origin.url")
	if err != nil || len(values) == 0 {
		return "", err
	}
	return withoutCredentials(values[len(values)-1]), nil // the last one counts
}

// withoutCredentials keeps the user of an ssh address, without which it would not work.
func withoutCredentials(address string) string {
	host, _, ok := splitURL(address)
	if !ok || host == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.User == nil { // host:path has no password
		return address
	}
	u.User = url.User(u.User.Username())
	if u.Scheme != "ssh" {
		u.User = nil
	}
	return u.String()
}
