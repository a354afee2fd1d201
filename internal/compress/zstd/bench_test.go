package zstd

import (
	"os"
	"testing"

	"github.com/repomcp/repomcp/internal/compress/compresstest"
)

func BenchmarkFirstByte(b *testing.B) { codec.BenchmarkFirstByte(b) }

func BenchmarkCompress(b *testing.B) {
	data, err := os.ReadFile(compresstest.SourceTar(b))
	if err != nil {
		b.Fatal(err)
	}
	codec.BenchmarkLevels(b, data)
}
