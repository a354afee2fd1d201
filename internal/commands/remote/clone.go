package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// cloneMemory is the GOMEMLIMIT for a clone, whose index takes some hundred bytes for each file.
const cloneMemory = 256 << 20

// makeClone downloads a checkout into a new folder.
func (f *getFlags) makeClone(ctx context.Context, s *source) error {
	switch {
	case f.extract || f.resume:
		return cli.Misused(errors.New("--checkout goes with neither --extract nor --resume"))
	case f.output == "" || f.output == "-":
		return cli.Misused(errors.New("--checkout needs a folder: -o DIR"))
	}
	if err := s.ofCheckout(); err != nil {
		return err
	}
	f.env.LimitMemory(cloneMemory)
	f.env.Collect(cli.ArchiveGarbage)
	d, err := f.open(ctx, s, client.Part{})
	if checkout.IsTooOld(err) {
		return fmt.Errorf("%s: %w", s.what, checkout.ErrNoCheckouts)
	}
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	in, end := f.watched(d, 0)
	report, err := checkout.Clone(ctx, in, f.output, unpack.Options{AllowExternalSymlinks: f.links})
	end()
	return f.unpacked(d, report, err)
}

// ofCheckout makes the addresses those of a checkout. A link stays as it is signed.
func (s *source) ofCheckout() (err error) {
	if s.address != "" {
		if u, other := url.Parse(s.address); other == nil && strings.HasPrefix(u.Path, "/archive/") {
			s.address, err = ofCheckout(s.address)
		}
		return err
	}
	s.uris = s.uris[:1] // that of the archive; no file is a checkout
	s.uris[0], err = ofCheckout(s.uris[0])
	return err
}

// ofCheckout adds the options of a checkout to the address of an archive.
func ofCheckout(address string) (string, error) {
	before, text, _ := strings.Cut(address, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		return "", cli.Misused(fmt.Errorf("%q: %w", address, err))
	}
	if p := query.Get("profile"); p != "" && p != checkout.ProfileCheckout {
		return "", cli.Misused(fmt.Errorf("--checkout does not go with the option profile=%s", p))
	}
	query.Set("profile", checkout.ProfileCheckout)
	if query.Get("objects") == "" {
		query.Set("objects", checkout.ObjectsConverted)
	}
	return before + "?" + strings.ReplaceAll(query.Encode(), "+", "%20"), nil
}
