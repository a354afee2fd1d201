// Package folderlock reserves folders and files for a process, so that no two use one, and what a killed one left can
// be told from what another one uses.
package folderlock

import "errors"

// ErrHeld means that a folder or file is reserved.
var ErrHeld = errors.New("another process has the folder")
