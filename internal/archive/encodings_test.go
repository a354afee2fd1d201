package archive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestUnknownEncodingsAreTold names the files that stay UTF-8 although attributes ask for
// another encoding: the validator's examination by encoding, the manifest by file.
func TestUnknownEncodingsAreTold(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main",
		gittest.Regular(".gitattributes",
			"[attr]old working-tree-encoding=EUC-TW\n*.t old\n*.jp working-tree-encoding=SHIFT-JIS\n*.u working-tree-encoding=utf8\n"+
				"unused working-tree-encoding=unused\n"),
		gittest.Regular("a.t", "é"), gittest.Regular("b.jp", "日本語"), gittest.Regular("b.u", "é"),
		gittest.Regular("d/.gitattributes", "*.x\tworking-tree-encoding=no,such\r\ngone working-tree-encoding=GONE export-ignore\n"),
		gittest.Regular("d/a.t", "é"), gittest.Regular("d/c.x", "é"), gittest.Regular("d/gone", "é"),
		gittest.Symlink("e.t", "a.t"))
	for _, c := range []struct {
		name    string
		options archive.Options
		want    []string
		files   string
	}{
		{"all", archive.Options{}, []string{"EUC-TW", "no,such"}, "a.t:EUC-TW d/a.t:EUC-TW d/c.x:no,such"},
		{"what is known", archive.Options{Exclude: []string{"*.t", "*.x"}}, nil, ""},
		{"below", archive.Options{Strip: "d", Paths: []string{"d/c.x"}}, []string{"no,such"}, "c.x:no,such"},
		{"as stored", archive.Options{Profile: archive.ProfileFull}, nil, ""},
	} {
		for _, format := range []archive.Format{archive.Tar, archive.Zip, archive.Manifest} {
			c.options.Format = format
			p := plan(t, repo, "main", c.options)
			for _, first := range []bool{c.want != nil, false} {
				names, told, err := p.UnknownEncodings(t.Context())
				if err != nil || !slices.Equal(names, c.want) || told != first {
					t.Errorf("%s as %s: %q, first %t, %v, want %q, first %t", c.name, format, names, told, err, c.want, first)
				}
			}
		}
		var files []string
		for _, e := range readManifest(t, write(t, plan(t, repo, "main", c.options))).Entries {
			if e.UnknownEncoding != "" {
				files = append(files, e.Path+":"+e.UnknownEncoding)
			}
		}
		if got := strings.Join(files, " "); got != c.files {
			t.Errorf("%s: the manifest names %q, want %q", c.name, got, c.files)
		}
	}
	repo.WriteFile("info/attributes", []byte("b.u working-tree-encoding=INFO\n"))
	if names, _, err := plan(t, repo, "main", archive.Options{Format: archive.Tar}).UnknownEncodings(t.Context()); err != nil ||
		!slices.Contains(names, "INFO") {
		t.Errorf("with info/attributes: %q, %v", names, err)
	}
	var attributes strings.Builder
	var files []gittest.File
	for i := range 2 * archive.MaxUnknownEncodings {
		fmt.Fprintf(&attributes, "%d working-tree-encoding=none-%d\n", i, i)
		files = append(files, gittest.Regular(fmt.Sprint(i), "x"))
	}
	repo.Commit("many", append(files, gittest.Regular(".gitattributes", attributes.String()))...)
	names, _, err := plan(t, repo, "many", archive.Options{Format: archive.Tar}).UnknownEncodings(t.Context())
	if err != nil || len(names) != archive.MaxUnknownEncodings {
		t.Errorf("of many encodings %d are named, %v", len(names), err)
	}
}
