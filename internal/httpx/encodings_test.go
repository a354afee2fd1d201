package httpx_test

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// TestUnknownEncodingsAreInAHeader asks on every route for an archive with files that
// cannot be converted as attributes ask for, and for one without.
func TestUnknownEncodingsAreInAHeader(t *testing.T) {
	t.Parallel()
	log := &journal{}
	s := newTarget(t, targetOptions{
		links: newLinks(t).linking(t), cache: newCache(t, t.TempDir(), nil),
		http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log, nil))},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "old.git")).Commit("main",
				gittest.Regular(".gitattributes", "a working-tree-encoding=EUC-TW\nb working-tree-encoding=no,such\n"+
					"c working-tree-encoding=SHIFT-JIS\n"),
				gittest.Regular("a", "\u4e2d"), gittest.Regular("b", "x"), gittest.Regular("c", "\u65e5"))
		},
	})
	const header, want = "X-Repomcp-Unknown-Encodings", "EUC-TW, no%2Csuch"
	cases := 0
	for _, format := range []string{"tar", "tar.gz", "tar.zst", "tar.xz", "zip", "manifest.json"} {
		for query, want := range map[string]string{"": want, "?exclude=a&exclude=b": "", "?profile=full": ""} {
			path, uri := "/archive/old/main."+format+query, "repo://old/archive/main."+format+query
			stream := s.call(modernVersion, methodStream, map[string]any{"uri": uri})
			link := at(t, s.downloadURL(t, modernVersion, uri))
			for name, a := range map[string]answer{
				"GET": s.get(t, path), "HEAD": s.fetch(t, http.MethodHead, path), "range": s.get(t, path, "Range: bytes=1-9"),
				"again": s.get(t, path), "stream": s.do(t, stream),
				"HEAD of a link": s.fetch(t, http.MethodHead, link), "link": s.get(t, link),
			} {
				if got := a.header.Get(header); got != want || a.failed() {
					t.Errorf("%s of %s: %d, %s is %q, want %q", name, path, a.status, header, got, want)
				}
				cases++
			}
			read := s.do(t, s.call(modernVersion, methodRead, map[string]any{"uri": uri}))
			if told := strings.Contains(string(read.body), `/unknownEncodings":["EUC-TW","no,such"]`); told != (want != "") {
				t.Errorf("resources/read of %s tells of encodings: %t, %v", uri, told, read)
			}
		}
	}
	if warned := strings.Count(log.String(), "working-tree-encoding is not known"); warned != 6 {
		t.Errorf("%d warnings about 6 archives:\n%s", warned, log)
	}
	if cases != 6*3*7 {
		t.Errorf("%d cases", cases)
	}
}
