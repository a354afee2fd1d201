package unpack

import "testing"

func TestCheckPathBySystem(t *testing.T) {
	const all = "all"
	reasons := []struct {
		path   string
		system string // all, or the only ones that refuse
		reason Reason // "" is taken by all
	}{
		{"a", all, ""},
		{"a/b.c/d-e_f", all, ""},
		{".gitignore", all, ""},
		{".github/workflows/x.yml", all, ""},
		{".gitattributes", all, ""},
		{"git", all, ""},
		{"x.git", all, ""},
		{".git1", all, ""},
		{"git~", all, ""},
		{"git~a", all, ""},
		{"...", "windows", InvalidName},
		{"..a", all, ""},
		{"a..b/..c", all, ""},
		{".repomcpx", all, ""},
		{".repomcp.yaml", all, ""},
		{"repomcp", all, ""},
		{"é/ü", all, ""},

		{"", all, EmptyName},
		{"/", all, Absolute},
		{"/a", all, Absolute},
		{"//a", all, Absolute},
		{"a/", all, EmptyName},
		{"a//b", all, EmptyName},
		{".", all, Dots},
		{"a/./b", all, Dots},
		{"..", all, Dots},
		{"../a", all, Dots},
		{"a/../b", all, Dots},
		{"a\x00b", all, NULByte},

		{".git", all, GitFolder},
		{"a/.git/b", all, GitFolder},
		{".GIT", all, GitFolder},
		{".Git", all, GitFolder},
		{".git.", all, GitFolder},
		{".git ", all, GitFolder},
		{".git . .", all, GitFolder},
		{"git~1", all, GitFolder},
		{"GIT~1", all, GitFolder},
		{"git~1 ", all, GitFolder},
		{"GiT~12", all, GitFolder},
		{".g\u200cit", all, GitFolder},
		{"\u200f.git", all, GitFolder},
		{".git\ufeff", all, GitFolder},
		{".g\u202eI\u206ft", all, GitFolder},

		{".repomcp", all, ReservedName},
		{".RepoMCP/a", all, ReservedName},
		{"a/.repomcp", all, ReservedName},
		{".repomcp. ", all, ReservedName},
		{".repo\u200cmcp", all, ReservedName},
		{"REPOMC~1", all, ReservedName},
		{".repomcp-tmp-x", all, ReservedName},
		{"a/.REPOMCP-tmp-x-1", all, ReservedName},
		{".repomcp\u200c-tmp-1", all, ReservedName},

		{`a\b`, "windows", Separator},
		{`..\a`, "windows", Separator},
		{`C:\a`, "windows", Separator},
		{"C:a", "windows", Separator},
		{`\\srv\share`, "windows", Separator},
		{"a:stream", "windows", Separator},
		{"CON", "windows", DeviceName},
		{"con", "windows", DeviceName},
		{"a/Nul.txt", "windows", DeviceName},
		{"aux.c", "windows", DeviceName},
		{"PRN .tar.gz", "windows", DeviceName},
		{"COM1", "windows", DeviceName},
		{"lpt9.x", "windows", DeviceName},
		{"COM\u00b2", "windows", DeviceName},
		{"CONIN$", "windows", DeviceName},
		{"conout$", "windows", DeviceName},
		{"COM10", all, ""},
		{"COM", all, ""},
		{"CONSOLE", all, ""},
		{"a.", "windows", InvalidName},
		{"a ", "windows", InvalidName},
		{"a ./b", "windows", InvalidName},
		{"a\nb", "windows", InvalidName},
		{"what?", "windows", InvalidName},
		{"a<b", "windows", InvalidName},
		{`"a"`, "windows", InvalidName},
		{"a|b", "windows", InvalidName},
		{"*", "windows", InvalidName},
		{"a\xff", "windows darwin", NotUnicode},
	}
	for _, c := range reasons {
		for _, goos := range []string{"linux", "windows", "darwin", "freebsd"} {
			want := Reason("")
			if c.system == all || c.system == goos || c.system == "windows darwin" && goos != "linux" &&
				goos != "freebsd" {
				want = c.reason
			}
			if got := checkPath(goos, c.path); got != want {
				t.Errorf("%q on %s: %q, not %q", c.path, goos, got, want)
			}
		}
	}
	// A stream of NTFS is refused as what it is a stream of, but for Windows, which
	// has no colons at all.
	for _, path := range []string{".git::$INDEX_ALLOCATION", ".git:a", ".repomcp:x", "GIT~1::$DATA"} {
		for _, goos := range []string{"linux", "windows", "darwin"} {
			if checkPath(goos, path) == "" {
				t.Errorf("%q is taken on %s", path, goos)
			}
		}
	}
}

func TestProbeAgreesWithTheFileSystem(t *testing.T) {
	p := newPlace(t)
	same, err := probe(p.root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.dir+"/aé", "")
	upper, _ := exists(p.root, "Aé")
	decomposed, _ := exists(p.root, "ae\u0301")
	if same.Letters != upper || same.Forms != decomposed {
		t.Errorf("%+v, but names differ in case %t and in form %t", same, !upper, !decomposed)
	}
}

func TestLinkStays(t *testing.T) {
	for _, c := range []struct {
		at, target string
		stays      bool
	}{
		{"l", "a", true},
		{"l", "a/b/", true},
		{"l", "./a", true},
		{"l", ".", true},
		{"d/l", "..", true},
		{"d/l", "../a", true},
		{"a/b/l", "../../c", true},
		{"a/b/l", ".././../c", true},
		{"l", "", false},
		{"l", "..", false},
		{"l", "../a", false},
		{"l", "/", false},
		{"l", "/etc/passwd", false},
		{"a/b/l", "../../../c", false},
		{"a/b/l", "c/..", false},
		{"a/b/l", "../c/../..", false},
	} {
		if got := LinkStays(c.at, c.target); got != c.stays {
			t.Errorf("%q -> %q stays: %t", c.at, c.target, got)
		}
	}
}
