package zstd

import (
	"testing"

	"github.com/repomcp/repomcp/internal/compress/compresstest"
)

func BenchmarkCompress(b *testing.B) { codec.BenchmarkLevels(b, compresstest.SourceTar(b)) }
