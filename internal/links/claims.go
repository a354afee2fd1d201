package links

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// maxClaimsBytes has room for the longest URI of a resource (4 KiB) and for names of usual
	// length.
	maxClaimsBytes = 5 << 10
	// paddingBytes is the granularity in which the length of claims is visible.
	paddingBytes = 64
	// fixedClaimsBytes precede the strings: kind, methods, flags, and issued, expires and place.
	fixedClaimsBytes = 3 + 4*8
)

const flagSingleUse = 1

// errClaims refuses claims that encode did not write.
var errClaims = errors.New("malformed claims")

// encode writes claims, without the nonce: integers are big endian, strings have two bytes of
// length before them, and zeros pad the end.
func (l Link) encode() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	flags := byte(0)
	if l.SingleUse {
		flags |= flagSingleUse
	}
	b := []byte{byte(l.Kind), byte(l.Methods), flags}
	b = binary.BigEndian.AppendUint64(b, uint64(l.Issued.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(l.Expires.Unix()))
	for _, number := range []uint64{l.Place.Maker, l.Place.Serial} {
		b = binary.BigEndian.AppendUint64(b, number)
	}
	for _, text := range []string{l.Host, l.Repository, l.Resource, l.Asked, l.FileName, l.Principal, l.Reader,
		l.Rights} {
		if len(text) > maxClaimsBytes {
			return nil, fmt.Errorf("%w: at most %d bytes of claims", ErrTooLong, maxClaimsBytes)
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
		b = append(b, text...)
	}
	if len(b) > maxClaimsBytes {
		return nil, fmt.Errorf("%w: %d bytes of claims, at most %d", ErrTooLong, len(b), maxClaimsBytes)
	}
	return append(b, make([]byte, -len(b)&(paddingBytes-1))...), nil
}

// decodeClaims is the inverse of encode: what it accepts encodes to the same bytes.
func decodeClaims(b []byte) (Link, error) {
	if len(b) < fixedClaimsBytes || len(b) > maxClaimsBytes || b[2]&^flagSingleUse != 0 {
		return Link{}, errClaims
	}
	issued, expires := binary.BigEndian.Uint64(b[3:]), binary.BigEndian.Uint64(b[11:])
	// If both fit into a signed number of nanoseconds, no sum or difference of dates can overflow.
	if issued > math.MaxInt64/uint64(time.Millisecond) || expires > math.MaxInt64/uint64(time.Second) {
		return Link{}, errClaims
	}
	l := Link{
		Grant: Grant{
			Kind: Kind(b[0]), Methods: Methods(b[1]), SingleUse: b[2]&flagSingleUse != 0,
		},
		Issued:  time.UnixMilli(int64(issued)).UTC(),
		Expires: time.Unix(int64(expires), 0).UTC(),
		Place:   Place{Maker: binary.BigEndian.Uint64(b[19:]), Serial: binary.BigEndian.Uint64(b[27:])},
	}
	l.Lifetime = l.Expires.Sub(l.Issued)
	rest := b[fixedClaimsBytes:]
	for _, text := range []*string{
		&l.Host, &l.Repository, &l.Resource, &l.Asked, &l.FileName, &l.Principal, &l.Reader, &l.Rights,
	} {
		var ok bool
		if *text, rest, ok = cutText(rest); !ok {
			return Link{}, errClaims
		}
	}
	if len(b)%paddingBytes != 0 || len(rest) >= paddingBytes || len(bytes.TrimLeft(rest, "\x00")) > 0 ||
		l.check() != nil {
		return Link{}, errClaims
	}
	return l, nil
}

func cutText(b []byte) (text string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}
