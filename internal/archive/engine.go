package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
	"github.com/repomcp/repomcp/internal/archive/compress/xz"
	"github.com/repomcp/repomcp/internal/archive/compress/zstd"
	"github.com/repomcp/repomcp/internal/archive/zip"
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// EngineOptions of an [Engine]. The zero value suits a server.
type EngineOptions struct {
	// Workers bounds the processors for all archives; 0 means all.
	Workers int
	// Level of compression, 1 to 9; 0 means the default of each format. It does not affect tar.xz,
	// whose encoder has only one level.
	Level int
}

// Engine holds what all archives of a process share: workers, compressors and buffers. Close it
// after the last archive.
type Engine struct {
	sched        *workers.Scheduler
	gzip         *gzip.Compressor // also for zip
	codecs       map[Format]codec
	runs         sync.Pool
	patchers     sync.Pool
	packs        *checkout.Encoder
	storedPacks  *checkout.Encoder                // of clients that pack files themselves
	space        *spill.Space                     // of packs and indexes on their way
	extra        chan struct{}                    // runs that archives may borrow
	writing      atomic.Int64                     // archives being written
	examinations *lru.Cache[string, *examination] // by tag
	trails       *lru.Cache[string, *trail]
}

// codec is the compression of a format, for the tar or for the contents of its members.
type codec struct {
	version string                                              // version of the output bytes
	open    func(ctx context.Context, dst io.Writer) compressor // compresses the tar; nil: members are compressed
}

// compressor is a stream that only Close completes.
type compressor interface {
	io.WriteCloser
	// Store says whether the following input is compressed already.
	Store(stored bool) error
	Abort()
}

const (
	// examinationCost is the cost of an examination without names; tags have a fixed length.
	examinationCost = 250
	// stringHeader is the cost of a string in a list without its bytes.
	stringHeader = 16
	// maxExaminationBytes bounds the cached examinations.
	maxExaminationBytes = 2_000_000
	// maxSpillBytes bounds the temporary files of all checkouts: a temporary folder can usually spare
	// this.
	maxSpillBytes = 8 << 30
)

// CheckLevel refuses invalid compression levels; 0 selects a default.
func CheckLevel(level int) error {
	if level != 0 && (level < gzip.MinLevel || level > gzip.MaxLevel) {
		return fmt.Errorf("compression level %d is not in %d to %d", level, gzip.MinLevel, gzip.MaxLevel)
	}
	return nil
}

// NewEngine starts the workers.
func NewEngine(o EngineOptions) (*Engine, error) {
	if err := CheckLevel(o.Level); err != nil {
		return nil, err
	}
	e := &Engine{
		sched:        workers.New(o.Workers),
		examinations: lru.New[string, *examination](maxExaminationBytes),
		trails:       lru.New[string, *trail](maxTrails),
	}
	if err := e.openCodecs(cmp.Or(o.Level, gzip.DefaultLevel), cmp.Or(o.Level, zstd.DefaultLevel)); err != nil {
		e.Close()
		return nil, err
	}
	buffers := newLargeBuffers(e.sched.Workers() + 1)
	e.runs.New = func() any { return newRun(buffers) }
	e.space = spill.NewSpace(os.TempDir(), maxSpillBytes)
	e.patchers.New = func() any { return new(patcher) }
	e.extra = make(chan struct{}, sharedRuns*e.sched.Workers())
	for range cap(e.extra) {
		e.extra <- struct{}{}
	}
	return e, nil
}

func (e *Engine) openCodecs(gzipLevel, zstdLevel int) error {
	gz, gzipErr := gzip.New(e.sched, gzipLevel)
	zst, zstdErr := zstd.New(e.sched, zstdLevel)
	lzma := xz.New(e.sched)
	var packErr, storeErr error
	e.packs, packErr = checkout.NewEncoder(e.sched)
	e.storedPacks, storeErr = checkout.NewStoringEncoder(e.sched)
	deflate := fmt.Sprint(gzip.EncoderVersion, " ", gzipLevel)
	e.gzip, e.codecs = gz, map[Format]codec{
		TarGz: {deflate, func(ctx context.Context, dst io.Writer) compressor { return gz.NewWriter(ctx, dst) }},
		TarZst: {
			fmt.Sprint(zstd.EncoderVersion, " ", zstdLevel),
			func(ctx context.Context, dst io.Writer) compressor { return zst.NewWriter(ctx, dst) },
		},
		TarXz: {xz.EncoderVersion,
			func(ctx context.Context, dst io.Writer) compressor { return lzma.NewWriter(ctx, dst) }},
		Zip: {version: zip.EncoderVersion + " " + deflate},
	}
	return errors.Join(gzipErr, zstdErr, packErr, storeErr)
}

// ownRuns returns the current number of runs that an archive may have of its own.
func (e *Engine) ownRuns() int {
	if e.writing.Load() > int64(cap(e.extra)) {
		return crowdedRuns
	}
	return ownRuns
}

// ownMemory is the memory of one archive: its runs of entries with their sources, and its folders.
const ownMemory = ownRuns*(runBuffer+inlineBytes) + 256<<10

// compressedMemory is the additional memory of a compressor.
var compressedMemory = map[Format]int64{
	TarGz:  gzip.WriterBlocks * gzip.BlockMemory,
	TarZst: zstd.WriterBlocks * zstd.BlockSize,
	TarXz:  xz.WriterBlocks * xz.BlockSize,
	Zip:    gzip.WriterBlocks * gzip.BlockMemory,
}

// Memory returns the maximal memory of an archive of a format while it is written, whatever its
// size, without what all archives share.
func (f Format) Memory() int64 { return ownMemory + compressedMemory[f] }

// Scheduler returns the engine's workers, so that other work can share them with archives. It ends
// with the engine.
func (e *Engine) Scheduler() *workers.Scheduler { return e.sched }

// Close ends the workers.
func (e *Engine) Close() { e.sched.Close() }
