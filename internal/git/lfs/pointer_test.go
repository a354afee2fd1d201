package lfs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/lfs"
)

const (
	version = "version https://git-lfs.github.com/spec/v1\n"
	digits  = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
	oid     = "oid sha256:" + digits + "\n"
	size    = "size 12345\n"
)

func TestParse(t *testing.T) {
	plain := lfs.Pointer{OID: digits, Size: 12345}
	extended := lfs.Pointer{OID: digits, Size: 12345, Extended: true}
	extension := "ext-0-foo sha256:" + digits + "\n"
	for name, c := range map[string]struct {
		content string
		want    lfs.Pointer
		ok      bool
	}{
		"as written":           {version + oid + size, plain, true},
		"hawser":               {"version https://hawser.github.com/spec/v1\n" + oid + size, plain, true},
		"git-media":            {"version http://git-media.io/v/2\n" + oid + size, plain, true},
		"no final newline":     {version + oid + "size 12345", plain, true},
		"carriage returns":     {strings.ReplaceAll(version+oid+size, "\n", "\r\n"), plain, true},
		"blanks around":        {"\n " + version + "\n" + oid + size + "\n\n", plain, true},
		"extension":            {version + extension + oid + size, extended, true},
		"extension in the end": {version + oid + size + extension, extended, true},
		"empty object":         {version + oid + "size 0\n", lfs.Pointer{OID: digits}, true},
		"largest": {version + oid + "size 9223372036854775807\n",
			lfs.Pointer{OID: digits, Size: 1<<63 - 1}, true},
		"1023 bytes":             {pad(version+oid+size, 1023), plain, true},
		"1024 bytes":             {pad(version+oid+size, 1024), plain, false},
		"empty":                  {"", plain, false},
		"other version":          {"version https://git-lfs.github.com/spec/v2\n" + oid + size, plain, false},
		"version glued":          {"version https://git-lfs.github.com/spec/v1x\n" + oid + size, plain, false},
		"only a version":         {version, plain, false},
		"no size":                {version + oid, plain, false},
		"other order":            {version + size + oid, plain, false},
		"extension first":        {extension + version + oid + size, plain, false},
		"extension without name": {version + "ext-0-\n" + oid + size, plain, false},
		"unknown key":            {version + oid + size + "zzz 1\n", plain, false},
		"key twice":              {version + oid + oid + size, plain, false},
		"size negative":          {version + oid + "size -1\n", plain, false},
		"size signed":            {version + oid + "size +1\n", plain, false},
		"size too large":         {version + oid + "size 9223372036854775808\n", plain, false},
		"size of words":          {version + oid + "size 0x1\n", plain, false},
		"oid short":              {version + "oid sha256:" + digits[1:] + "\n" + size, plain, false},
		"oid long":               {version + "oid sha256:" + digits + "0\n" + size, plain, false},
		"oid is a path":          {version + "oid sha256:../" + digits[3:] + "\n" + size, plain, false},
		"oid in upper case":      {version + "oid sha256:" + strings.ToUpper(digits) + "\n" + size, plain, false},
		"oid of other kind":      {version + "oid md5:" + digits + "\n" + size, plain, false},
		"oid without kind":       {version + "oid " + digits + "\n" + size, plain, false},
		"text about it": {"version https://git-lfs.github.com/spec/v1 is what pointers begin with", plain,
			false},
	} {
		got, ok := lfs.Parse([]byte(c.content))
		if ok != c.ok || ok && got != c.want || !ok && got != (lfs.Pointer{}) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

func pad(content string, length int) string {
	return content + strings.Repeat("\n", length-len(content))
}

// FuzzParse holds what is accepted against its canonical form.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{version + oid + size, version + "ext-1-a b\n" + oid + size, version, "", oid + size} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p, ok := lfs.Parse(content)
		if !ok {
			return
		}
		if len(content) >= lfs.MaxBytes || p.Size < 0 || len(p.OID) != len(digits) {
			t.Fatalf("%q gave %+v", content, p)
		}
		again, ok := lfs.Parse(fmt.Appendf(nil, "%soid sha256:%s\nsize %d\n", version, p.OID, p.Size))
		if p.Extended = false; !ok || again != p {
			t.Fatalf("%+v became %+v, %v", p, again, ok)
		}
	})
}
