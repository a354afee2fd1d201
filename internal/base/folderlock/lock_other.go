//go:build !unix

package folderlock

import (
	"errors"
	"os"
)

// Lock is not supported: the operator must not let two processes share a folder.
func Lock(*os.File) error { return errors.ErrUnsupported }
