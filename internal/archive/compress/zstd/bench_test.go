package zstd

import (
	"testing"

	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
)

func BenchmarkCompress(b *testing.B) { codec.BenchmarkLevels(b, compresstest.SourceTar(b)) }
