package binarypatch

// windowBytes is the length of the blocks that are searched.
const windowBytes = 16

const (
	// polynomial over GF(2), of the given degree.
	polynomial = 0xab59b4d1
	degree     = 31
)

// fingerprint is the remainder of bytes, as a polynomial, divided by the polynomial.
type fingerprint uint32

// reductions are what is added for the byte that leaves a fingerprint at its top, and contributions
// what the first byte of a full window adds to its fingerprint.
var reductions, contributions = fingerprintTables()

func fingerprintTables() (reductions, contributions [256]fingerprint) {
	power := fingerprint(polynomial)
	for bit := 1; bit < len(reductions); bit <<= 1 {
		for i := range reductions {
			if i&bit != 0 {
				reductions[i] ^= power
			}
		}
		if power <<= 1; power>>degree == 1 {
			power ^= polynomial
		}
	}
	for i := range contributions {
		f := fingerprint(i)
		for range windowBytes - 1 {
			f = f<<8 ^ reductions[f>>(degree-8)]
		}
		contributions[i] = f
	}
	return reductions, contributions
}

// followed returns the fingerprint with one more byte.
func (f fingerprint) followed(c byte) fingerprint {
	return (f<<8 | fingerprint(c)) ^ reductions[f>>(degree-8)]
}

// fingerprintOf returns the fingerprint of a window.
func fingerprintOf(window []byte) (f fingerprint) {
	for _, c := range window {
		f = f.followed(c)
	}
	return f
}
