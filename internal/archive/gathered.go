package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/repomcp/repomcp/internal/archive/tree"
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
	opener := p.newOpener(ctx)
	err := p.each(ctx, func(e tree.Entry) error {
		lacking, err := opener.LacksObject(e)
		if lacking {
			sum.Write(append(e.Path, 0))
		}
		return err
	})
	return Validator{Tag: hex.EncodeToString(sum.Sum(nil)[:16]), Weak: true}, err
}
