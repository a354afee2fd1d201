//go:build !unix

package operatorfile

import (
	"io/fs"
	"os"
	"time"
)

// changed is when a file was written last, as far as that is known.
func changed(info fs.FileInfo, _ *os.File) time.Time { return info.ModTime() }
