package main

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// noise writes bytes that do not compress.
func noise(w io.Writer, size int64) error {
	source := rand.NewChaCha8([32]byte{})
	_, err := io.CopyN(w, source, size)
	return err
}

// logLines writes lines as a server logs them: the same words, and numbers that
// always differ.
func logLines(w io.Writer, size int64) error {
	r := generator(3)
	levels := []string{"DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"}
	messages := []string{"request served", "cache miss", "connection closed by peer", "retrying the upload", "session refreshed"}
	var line []byte
	for n := 0; size > 0; n++ {
		line = fmt.Appendf(line[:0], "2026-01-%02dT%02d:%02d:%02d.%06dZ %s worker-%d %s path=/api/v1/items/%d status=%d duration=%dus\n",
			1+n/86_400%28, n/3_600%24, n/60%60, n%60, r.IntN(1_000_000), levels[r.IntN(len(levels))], r.IntN(16),
			messages[r.IntN(len(messages))], r.IntN(100_000), 200+r.IntN(5)*51, r.IntN(900_000))
		line = line[:min(int64(len(line)), size)]
		if _, err := w.Write(line); err != nil {
			return err
		}
		size -= int64(len(line))
	}
	return nil
}

// writeBigFiles imports one commit with both.
func writeBigFiles(i *importer, size int64) error {
	i.commit()
	if err := i.stream("noise.bin", size, noise); err != nil {
		return err
	}
	return i.stream("server.log", size, logLines)
}
