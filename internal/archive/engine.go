package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/archive/zip"
	"github.com/repomcp/repomcp/internal/compress/gzip"
	"github.com/repomcp/repomcp/internal/compress/xz"
	"github.com/repomcp/repomcp/internal/compress/zstd"
	"github.com/repomcp/repomcp/internal/lru"
	"github.com/repomcp/repomcp/internal/workers"
)

// EngineOptions of an [Engine]. The zero value is good for a server.
type EngineOptions struct {
	// Workers is how many processors archives may use together; 0 means all.
	Workers int
	// Level of compression, 1 to 9; 0 means the default of each format. It has
	// no part in tar.xz, whose encoder has one only.
	Level int
}

// Engine is what all archives of a process share: workers, compressors and
// buffers. Close it after the last archive.
type Engine struct {
	sched        *workers.Scheduler
	gzip         *gzip.Compressor // of zip as well
	codecs       map[Format]codec
	runs         sync.Pool
	patchers     sync.Pool
	extra        chan struct{}                    // runs that archives may have beyond their own
	writing      atomic.Int64                     // archives that are written
	examinations *lru.Cache[string, *examination] // by tags
	trails       *lru.Cache[string, *trail]
}

// codec is what a format does with the tar, or with the contents of its members.
type codec struct {
	version string                                              // of the function from members to bytes
	open    func(ctx context.Context, dst io.Writer) compressor // of the tar; nil: its members are compressed
}

// compressor is a stream that has no end unless it is closed.
type compressor interface {
	io.WriteCloser
	Abort()
}

const (
	// examinationCost is what it takes to remember what was examined, without names: tags
	// are of one length.
	examinationCost = 250
	// stringHeader is what a string in a list takes beside its bytes.
	stringHeader = 16
	// maxExaminationBytes bounds what is remembered.
	maxExaminationBytes = 2_000_000
)

// CheckLevel fails for what is no compression level; 0 is one, which picks a good one.
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
	return errors.Join(gzipErr, zstdErr)
}

// ownRuns is how many runs an archive may have of its own by now.
func (e *Engine) ownRuns() int {
	if e.writing.Load() > int64(cap(e.extra)) {
		return crowdedRuns
	}
	return ownRuns
}

// ownMemory is what one archive holds of its own: entries that are made, with what they
// are read from, and its folders.
const ownMemory = ownRuns*(runBuffer+inlineBytes) + 256<<10

// compressed is what a compressor adds to that.
var compressedMemory = map[Format]int64{
	TarGz:  gzip.WriterBlocks * gzip.BlockMemory,
	TarZst: zstd.WriterBlocks * zstd.BlockSize,
	TarXz:  xz.WriterBlocks * xz.BlockSize,
	Zip:    gzip.WriterBlocks * gzip.BlockMemory,
}

// Memory is what an archive of a format takes at most while it is written, however large
// it is, beside what all archives share.
func (f Format) Memory() int64 { return ownMemory + compressedMemory[f] }

// Scheduler has the engine's workers, for others to share them with archives.
// It ends with the engine.
func (e *Engine) Scheduler() *workers.Scheduler { return e.sched }

// Close ends the workers.
func (e *Engine) Close() { e.sched.Close() }
