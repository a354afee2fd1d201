package archive_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestCompressedFormatsHoldTheTar(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.Commit("main", trees()["many"]...)
	want := repo.Archive("--format=tar", commit)
	for format, open := range map[archive.Format]func(io.Reader) (io.Reader, error){
		archive.TarZst: func(r io.Reader) (io.Reader, error) {
			zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			if err != nil {
				return nil, err
			}
			t.Cleanup(zr.Close)
			return zr, nil
		},
		archive.TarXz: func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) },
	} {
		zr, err := open(bytes.NewReader(write(t, plan(t, repo, "main", archive.Options{Format: format}))))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(zr); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of tar, git has %d; %v", format, len(got), len(want), err)
		}
	}
}
