package gzip

import (
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"testing"

	kgzip "github.com/klauspost/compress/gzip"

	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
)

// BenchmarkCompress compares with the libraries that compress by one processor.
func BenchmarkCompress(b *testing.B) {
	data := compresstest.SourceTar(b)
	b.Run("standard-6", func(b *testing.B) {
		compresstest.MeasureSpeed(b, data, func(dst io.Writer) io.WriteCloser { return stdgzip.NewWriter(dst) })
	})
	b.Run(fmt.Sprint("klauspost-", DefaultLevel), func(b *testing.B) {
		compresstest.MeasureSpeed(b, data, func(dst io.Writer) io.WriteCloser {
			zw, err := kgzip.NewWriterLevel(dst, DefaultLevel)
			if err != nil {
				b.Fatal(err)
			}
			return zw
		})
	})
	b.Run("blocks", func(b *testing.B) { codec.BenchmarkLevels(b, data) })
}
