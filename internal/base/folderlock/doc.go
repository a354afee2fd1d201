// Package folderlock reserves folders for a process, so that no two use one, and what a killed one left can be told
// from what another one uses.
package folderlock

import "errors"

// ErrHeld means that a folder is reserved.
var ErrHeld = errors.New("another process has the folder")
