//go:build cloud

package main

// The clients of Azure and Google bring half of the program, gRPC and 8 ms for
// every start, of archive and version as well. Whoever needs one builds with the
// tag; the container image has both.
import (
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
)
