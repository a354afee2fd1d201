//go:build gcs

package main

// Google's client brings gRPC, which makes the program half as large again and
// adds 8 ms to every start, of archive and version as well. Whoever needs the
// driver builds with the tag; the container image has it.
import _ "gocloud.dev/blob/gcsblob" // gs://
