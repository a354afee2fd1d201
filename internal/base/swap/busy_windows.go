package swap

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsBusy reports whether a rename failed because a program has the file open.
func IsBusy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}
