package dotgit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"hash"
	"crypto/sha1"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

