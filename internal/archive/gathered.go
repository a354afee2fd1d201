package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// gathered is the validator of an archive with content from outside of the
// commit. It is weak, for what is outside comes and goes; and since it must not
// pass for that of an archive made before something came, it tells which
// objects of git-lfs there are. To know that all pointers are read, each time.
func (p *Plan) gathered(ctx context.Context, tag string) (Validator, error) {
	if _, known := p.engine.validators.Get(tag); !known {
		if _, err := p.examine(ctx); err != nil {
			return Validator{}, err
		}
		p.engine.validators.Put(tag, true, validatorCost)
	}
	if p.options.LFS != LFSContent {
		return Validator{Tag: tag, Weak: true}, nil
	}
	sum := sha256.New()
	_, _ = io.WriteString(sum, tag) // a hash takes everything
	err := p.each(ctx, func(r *run, e entry) error {
		keeps, err := r.keepsPointer(e)
		if keeps {
			sum.Write(append(e.path, 0))
		}
		return err
	})
	return Validator{Tag: hex.EncodeToString(sum.Sum(nil)[:16]), Weak: true}, err
}

// keepsPointer reports whether a file is a pointer whose content is not there.
func (r *run) keepsPointer(e entry) (bool, error) {
	if !e.treatment.mayBePointer() {
		return false, nil
	}
	content, pointer, ok, err := readPointer(r.source, e.id, r.stored[:0])
	if content != nil {
		r.stored = content
	}
	if !ok || err != nil {
		return false, err
	}
	object, err := openPointed(r.source, pointer, r.limits)
	if object == nil || err != nil {
		return err == nil, err
	}
	return false, object.Close()
}
