package objects

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"io"
)

// verifyStep is how much is hashed between two looks at the context.
const verifyStep = 1 << 20

// Verify compares every pack of the snapshot and its index with their trailing
// checksums, which reads them whole. It returns all damage joined, or the error
// of ctx.
func (s *Snapshot) Verify(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	v := s.view.Load()
	found := append([]error(nil), v.faults...)
	for _, p := range v.packs {
		err := p.fault
		if err == nil {
			err = p.index.verify()
		}
		if err == nil {
			err = p.verify(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found = append(found, err)
	}
	return errors.Join(found...)
}

// verify hashes the pack.
func (p *pack) verify(ctx context.Context) error {
	h := sha1.New()
	buf := make([]byte, verifyStep)
	body := io.NewSectionReader(p.file, 0, p.end)
	for left := p.end; left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(body, buf[:min(left, verifyStep)])
		if err != nil {
			return p.damage(err)
		}
		h.Write(buf[:n])
		left -= int64(n)
	}
	if !bytes.Equal(h.Sum(nil), p.index.packSum[:]) {
		return p.damage(errChecksum)
	}
	return nil
}
