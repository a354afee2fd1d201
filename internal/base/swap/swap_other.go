//go:build !linux && !darwin

package swap

import (
	"errors"
	"io/fs"
	"os"
)

var errNoFlag, errNoCall = errors.ErrUnsupported, errors.ErrUnsupported

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }

func move(*os.File, string, string) error { return errors.ErrUnsupported }

// hasWriter is unknown on this system.
func hasWriter(*os.File) (has, known bool) { return false, false }

// ChangeTime is unknown on this system.
func ChangeTime(fs.FileInfo) int64 { return 0 }
