//go:build !unix

package operatorfile

import (
	"io/fs"
	"os"
	"time"
)

// changed returns the modification time, the best known time of a change.
func changed(info fs.FileInfo, _ *os.File) time.Time { return info.ModTime() }
