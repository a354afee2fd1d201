package client

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"
	"strings"
)

// ErrDigest is returned at the end of a download whose bytes are not those that
// the server announced.
var ErrDigest = errors.New("the bytes are not those of the server's Repr-Digest: download again")

// ErrTooLarge is returned for a download of more bytes than Options.MaxStreamSize.
var ErrTooLarge = errors.New("the download is larger than MaxStreamSize")

// checked is a body that ends only when its bytes are those of its Repr-Digest
// (RFC 9530), which comes as a header or, behind the last byte, as a trailer.
type checked struct {
	reply *http.Response
	sum   hash.Hash
	most  int64 // bytes, 0: any
	read  int64
	err   error // what every further Read gives
}

func (c *checked) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.sum == nil {
		c.sum = sha256.New()
	}
	n, err := c.reply.Body.Read(p)
	c.sum.Write(p[:n])
	c.read += int64(n)
	switch {
	case c.most > 0 && c.read > c.most:
		n, err = n-int(c.read-c.most), ErrTooLarge
	case errors.Is(err, io.EOF):
		err = c.compare()
	}
	c.err = err
	return n, err
}

func (c *checked) compare() error {
	for _, header := range []http.Header{c.reply.Header, c.reply.Trailer} {
		want, ok := digestOf(header.Get("Repr-Digest"))
		if ok && want != string(c.sum.Sum(nil)) {
			return ErrDigest
		}
	}
	return io.EOF
}

// digestOf finds the SHA-256 in a dictionary of digests, "sha-256=:BASE64:".
func digestOf(header string) (string, bool) {
	for member := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		value, colon := strings.CutPrefix(value, ":")
		if name != "sha-256" || !colon {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(value, ":"))
		return string(sum), err == nil
	}
	return "", false
}

func (c *checked) Close() error { return c.reply.Body.Close() }
