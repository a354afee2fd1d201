package subst

import "strings"

// signatureKinds are how signatures begin (gpg-interface.c), and the state that
// git gives one that it cannot check.
var signatureKinds = []struct {
	begin string
	state byte
}{
	{"-----BEGIN PGP SIGNATURE-----", 'E'},
	{"-----BEGIN PGP MESSAGE-----", 'E'},
	{"-----BEGIN SIGNED MESSAGE-----", 'E'},
	{"-----BEGIN SSH SIGNATURE-----", 'N'},
}

// signature is %G. The program that git would run is not run.
func (f *formatter) signature(out *buffer, p string) int {
	state, err := f.commit.signatureState()
	if err != nil {
		f.fail(err)
		return 0
	}
	const taken = 2
	switch at(p, 1) {
	case '?':
		out.addByte(state)
	case 'T':
		out.add("undefined")
	case 'G', 'S', 'K', 'F', 'P':
	default:
		return 0
	}
	return taken
}

func (c *commit) signatureState() (byte, error) {
	if c.signature == "" {
		return 'N', nil
	}
	for _, kind := range signatureKinds {
		if strings.HasPrefix(c.signature, kind.begin) {
			return kind.state, nil
		}
	}
	return 0, &FatalError{Reason: "unknown kind of signature"}
}
