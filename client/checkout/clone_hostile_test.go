package checkout

import (
	"archive/tar"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/repomcp/repomcp/client/unpack"
)

// member is a member of an archive that a server sends.
type member struct {
	tar.Header
	content []byte
}

// checkoutMembers are those of the archive of main.
func (p *place) checkoutMembers() (members []member) {
	p.t.Helper()
	reply, err := p.http().Get(p.server.proxy + "/archive/app/main.tar?profile=checkout&objects=converted")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }() // it was only read
	if reply.StatusCode != http.StatusOK {
		p.t.Fatal(reply.Status)
	}
	for archive := tar.NewReader(reply.Body); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		content, other := io.ReadAll(archive)
		if err != nil || other != nil {
			p.t.Fatal(err, other)
		}
		members = append(members, member{*header, content})
	}
}

func pack(t *testing.T, members []member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if m.Typeflag == tar.TypeReg {
			m.Size = int64(len(m.content))
		}
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(m.Name, err)
		}
		if _, err := w.Write(m.content); err != nil {
			t.Fatal(m.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func regular(name, content string) member {
	return member{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, []byte(content)}
}

// attack changes an archive. at is the place of a member, by the end of its name.
type attack struct {
	name   string
	change func(members []member, at func(name string) int) []member
}

// with returns an attack that replaces text in the content of a member.
func with(name, old, other string) attack {
	return attack{name + ": " + other, func(members []member, at func(string) int) []member {
		m := &members[at(name)]
		if !bytes.Contains(m.content, []byte(old)) {
			panic(name + " has no " + old)
		}
		m.content = bytes.Replace(m.content, []byte(old), []byte(other), 1)
		return members
	}}
}

// added returns an attack that adds a member before that of a name.
func added(before string, m member) attack {
	return attack{"with " + m.Name + " " + m.Linkname, func(members []member, at func(string) int) []member {
		return slices.Insert(members, at(before), m)
	}}
}

func hostileArchives() (attacks []attack) {
	for _, name := range []string{
		"hooks/post-checkout", "hooks/pre-commit", "config.worktree", "info/attributes", "info/grafts", "info/sparse-checkout",
		"objects/info/alternates", "objects/info/http-alternates", "objects/info/commit-graph", "objects/12/34567890123456789012345678901234567890",
		"objects/pack/pack-1234567890123456789012345678901234567890.keep", "objects/pack/pack-1234567890123456789012345678901234567890.promisor",
		"objects/pack/../../hooks/x", "objects/pack/multi-pack-index", "commondir", "gitdir", "worktrees/x/HEAD", "modules/x/HEAD", "modules/x/config",
		"refs/heads/main", "refs/heads/../../config", "refs/replace/1234567890123456789012345678901234567890", "refs/remotes/origin/main", "refs/stash",
		"logs/HEAD", "index.lock", "HEAD.lock", "MERGE_HEAD", "FETCH_HEAD", "ORIG_HEAD", "rebase-merge/git-rebase-todo", "CONFIG", "Config", "config ", "./config",
		"sharedindex.1234567890123456789012345678901234567890", "shallow.lock", "packed-refs.lock", "reftable/tables.list", "lfs/objects/x", "fsmonitor--daemon",
	} {
		attacks = append(attacks, added(".git/HEAD", regular(".git/"+name, "ref: x\n[core]\n\tfsmonitor = evil\n")))
	}
	for _, line := range []string{
		"[core]\n\tfsmonitor = evil", "[core]\n\tsshCommand = evil", "[core]\n\thooksPath = evil", "[core]\n\tworktree = /", "[core]\n\teditor = evil",
		"[core]\n\tpager = evil", "[core]\n\taskPass = evil", "[core]\n\tgitProxy = evil", "[core]\n\tattributesFile = evil", "[core]\n\tbare = true",
		"[core]\n\trepositoryformatversion = 1", "[core]\n\talternateRefsCommand = evil", "[include]\n\tpath = evil", "[includeIf \"gitdir:/\"]\n\tpath = evil",
		"[alias]\n\tst = !evil", "[filter \"x\"]\n\tclean = evil", "[diff \"x\"]\n\ttextconv = evil", "[merge \"x\"]\n\tdriver = evil", "[credential]\n\thelper = !evil",
		"[gpg]\n\tprogram = evil", "[protocol]\n\tallow = always", "[protocol \"ext\"]\n\tallow = always", "[url \"ext::evil\"]\n\tinsteadOf = https://", "[uploadpack]\n\tpackObjectsHook = evil",
		"[remote \"origin\"]\n\tuploadpack = evil", "[remote \"origin\"]\n\treceivepack = evil", "[remote \"origin\"]\n\tvcs = evil", "[remote \"origin\"]\n\tproxy = evil", "[remote \"other\"]\n\turl = https://evil.example/",
		"[remote \"origin\"]\n\tpromisor = true", "[extensions]\n\tpartialClone = origin", "[extensions]\n\tworktreeConfig = true", "[extensions]\n\tobjectFormat = sha256", "[branch \"main\"]\n\tdescription = x", "[branch \"main\"]\n\tremote = evil",
		"[branch \"side\"]\n\tmerge = refs/heads/main", "[submodule \"x\"]\n\tupdate = !evil", "[sequence]\n\teditor = evil", "[receive]\n\tprocReceiveRefs = x", "[http]\n\tproxy = http://evil", "[user]\n\tsigningkey = x", "[safe]\n\tdirectory = *",
		"[interactive]\n\tdiffFilter = evil", "[pager]\n\tlog = evil", "[difftool \"x\"]\n\tcmd = evil", "[mergetool \"x\"]\n\tcmd = evil", "[sendemail]\n\tsmtpServer = /evil", "[trailer \"x\"]\n\tcommand = evil", "[gc]\n\trecentObjectsHook = evil",
		"[transfer]\n\thideRefs = x", "[core]\n\tfilemode", "\x00", "[core", "[remote \"origin\"]\n\turl = ext::sh -c evil", "[remote \"origin\"]\n\turl = --upload-pack=evil", "[remote \"origin\"]\n\turl = /etc", "[remote \"origin\"]\n\turl = file:///etc",
		"[remote \"origin\"]\n\turl = ssh://-oProxyCommand=evil/x", "[remote \"origin\"]\n\turl = -oProxyCommand=evil:x", "[remote \"origin\"]\n\turl = https://user:secret@git.example.com/x", "[remote \"origin\"]\n\tpushurl = ext::evil", "[remote \"origin\"]\n\turl = \"https://git.example.com/\\nx\"",
		"[remote \"origin\"]\n\turl = fd::17/foo", "[remote \"ORIGIN\"]\n\turl = https://git.example.com/x", "[remote \"origin\"]\n\turl = git@-oProxyCommand=evil:x", "[remote \"origin\"]\n\turl = ../other",
	} {
		attacks = append(attacks, with(".git/config", "[core]", line+"\n[core]"))
	}
	zeros := strings.Repeat("0", 40)
	attacks = append(attacks,
		with(".git/HEAD", "refs/heads/main", "refs/heads/../../config"), with(".git/HEAD", "refs/heads/main", "refs/remotes/origin/main"),
		with(".git/HEAD", "refs/heads/main", "refs/heads/main.lock"), with(".git/HEAD", "refs/heads/main", "refs/heads/-main"),
		with(".git/HEAD", "refs/heads/main", "config"), with(".git/HEAD", "refs/heads/main", "refs/heads/a b"), with(".git/HEAD", "ref: refs/heads/main", zeros),
		with(".git/HEAD", "refs/heads/main", "refs/heads/main\nevil"), with(".git/HEAD", "refs/heads/main", "refs/heads/other"),
		with(".git/packed-refs", " refs/heads/main", " refs/heads/evil"), with(".git/packed-refs", " refs/heads/main", " refs/replace/"+zeros),
		with(".git/packed-refs", " refs/heads/main", " refs/heads/../../HEAD"), with(".git/packed-refs", "refs/heads/main\n", "refs/heads/main\n"+zeros+" refs/tags/v1\n"),
		with(".git/packed-refs", "refs/heads/main\n", "refs/heads/main\nx\n"), with(".git/shallow", "\n", "\n"+"x\n"), with(".git/shallow", "\n", "\n\n"),
		with("README", "about", "evil!"), with("empty", "", "x"), with("lines.crlf", "one\r\n", "one\n"), with("lines.crlf", "two", "evil"),
		with("keyword.ident", "$Id", "$Ie"), with("wide.utf16", "g\x00", "h\x00"),
		attack{"a file fewer", func(m []member, at func(string) int) []member { return slices.Delete(m, at("README"), at("README")+1) }},
		attack{"a link fewer", func(m []member, at func(string) int) []member { return slices.Delete(m, at("link"), at("link")+1) }},
		attack{"another target", func(m []member, at func(string) int) []member { m[at("link")].Linkname = "README"; return m }},
		attack{"a link in place of a file", func(m []member, at func(string) int) []member {
			m[at("README")] = member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "README", Linkname: ".git/config"}}
			return m
		}},
		attack{"a file in place of a link", func(m []member, at func(string) int) []member { m[at("link")] = regular("link", "bin/run"); return m }},
		attack{"an executable bit more", func(m []member, at func(string) int) []member { m[at("README")].Mode = 0o755; return m }},
		attack{"an executable bit less", func(m []member, at func(string) int) []member { m[at("bin/run")].Mode = 0o644; return m }},
		attack{"no pack", func(m []member, at func(string) int) []member {
			return slices.DeleteFunc(m, func(m member) bool { return strings.HasSuffix(m.Name, ".pack") })
		}},
		attack{"no HEAD", func(m []member, at func(string) int) []member {
			return slices.Delete(m, at(".git/HEAD"), at(".git/HEAD")+1)
		}},
		attack{"no config", func(m []member, at func(string) int) []member {
			return slices.Delete(m, at(".git/config"), at(".git/config")+1)
		}},
		attack{"HEAD twice", func(m []member, at func(string) int) []member { return append(m, m[at(".git/HEAD")]) }},
		attack{"two packs", func(m []member, at func(string) int) []member {
			other := m[at(".pack")]
			other.Name = ".git/objects/pack/pack-" + zeros + ".pack"
			return append(m, other)
		}},
		attack{"a program in .git", func(m []member, at func(string) int) []member { m[at(".git/description")].Mode = 0o755; return m }},
		attack{"a link in .git", func(m []member, at func(string) int) []member {
			m[at(".git/config")] = member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: ".git/config", Linkname: "../config"}}
			return m
		}},
		attack{"a folder as a file", func(m []member, at func(string) int) []member {
			m[at(".git/refs/")] = regular(".git/refs", "x")
			return m
		}},
		attack{"another commit", func(m []member, at func(string) int) []member {
			m[at("pax_global_header")].PAXRecords = map[string]string{"comment": strings.Repeat("1", 40)}
			return m
		}},
		attack{"no commit", func(m []member, at func(string) int) []member { return m[1:] }},
		attack{"a large HEAD", func(m []member, at func(string) int) []member {
			m[at(".git/HEAD")].content = bytes.Repeat([]byte("x"), 1<<20)
			return m
		}},
	)
	for _, path := range []string{".GIT/config", ".Git/hooks/x", "git~1/config", "GIT~1/hooks/x", ".git /config", ".git./config", ".git::$INDEX_ALLOCATION/config",
		".g\u200cit/config", "a/.git/config", "a/../.git/config", "/.git/config", "a/./.git/x", ".git\x00/x"} {
		if !strings.Contains(path, "\x00") {
			attacks = append(attacks, added("README", regular(path, "[core]\n\tfsmonitor = evil\n")))
		}
	}
	for _, target := range []string{".git", ".git/hooks", ".git/config", "../in/.git", ".GIT/hooks"} {
		attacks = append(attacks, added("README", member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "Evil", Linkname: target}}),
			attack{"hooks through a link to " + target, func(m []member, at func(string) int) []member {
				return slices.Insert(m, at("README"), member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "Evil", Linkname: target}}, regular("Evil/post-checkout", "evil"))
			}})
	}
	attacks = append(attacks, added("README", member{Header: tar.Header{Typeflag: tar.TypeLink, Name: "Evil", Linkname: ".git/config"}}),
		added(".git/HEAD", member{Header: tar.Header{Typeflag: tar.TypeLink, Name: ".git/hooks/x", Linkname: "README"}}),
		added(".git/HEAD", member{Header: tar.Header{Typeflag: tar.TypeChar, Name: ".git/x"}}))
	return append(attacks, hostilePacks()...)
}

// hostilePacks are attacks by the content of the pack.
func hostilePacks() (attacks []attack) {
	onPack := func(name string, change func(objects []object) []object) {
		attacks = append(attacks, attack{"pack: " + name, func(m []member, at func(string) int) []member {
			p := &m[at(".pack")]
			p.content = packOf(change(objectsOf(p.content)))
			return m
		}})
	}
	onPack("a blob more", func(o []object) []object { return append(o, object{kind: 3, content: []byte("evil")}) })
	onPack("a commit more", func(o []object) []object { return append(o, object{kind: 1, content: []byte("tree x\n")}) })
	onPack("a tag more", func(o []object) []object { return append(o, object{kind: 4, content: []byte("object x\n")}) })
	onPack("an object twice", func(o []object) []object { return append(o, o[0]) })
	onPack("an object fewer", func(o []object) []object { return o[1:] })
	onPack("the last object fewer", func(o []object) []object { return o[:len(o)-1] })
	onPack("a delta", func(o []object) []object { return append(o, object{kind: 7, content: make([]byte, 30)}) })
	onPack("an offset delta", func(o []object) []object { return append(o, object{kind: 6, content: make([]byte, 30)}) })
	onPack("an unknown type", func(o []object) []object { return append(o, object{kind: 5, content: []byte("x")}) })
	onPack("a wrong length", func(o []object) []object { o[0].claims = int64(len(o[0].content)) + 1; return o })
	onPack("a short length", func(o []object) []object { o[0].claims = int64(len(o[0].content)) - 1; return o })
	onPack("a huge length", func(o []object) []object { o[0].claims = 1 << 50; return o })
	onPack("a bomb", func(o []object) []object { return append(o, object{kind: 2, content: make([]byte, 80<<20)}) })
	for _, c := range []struct{ name, old, other string }{
		{"README in a tree is evil", "README", "EVIL!!"}, {"a name .git in a tree", "empty", ".git\x00"}, {"another mode", "100644 README", "100755 README"},
	} {
		onPack(c.name, func(o []object) []object {
			for i := range o {
				o[i].content = bytes.ReplaceAll(o[i].content, []byte(c.old), []byte(c.other))
			}
			return o
		})
	}
	for _, change := range []struct {
		name string
		do   func(pack []byte) []byte
	}{
		{"cut", func(p []byte) []byte { return p[:len(p)/2] }}, {"empty", func([]byte) []byte { return nil }},
		{"a byte changed", func(p []byte) []byte { p[len(p)/2] ^= 1; return p }}, {"another checksum", func(p []byte) []byte { p[len(p)-1] ^= 1; return p }},
		{"more objects than it has", func(p []byte) []byte { p[11]++; return p }}, {"another version", func(p []byte) []byte { p[7] = 3; return p }},
		{"no pack", func([]byte) []byte { return []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00") }},
	} {
		attacks = append(attacks, attack{"pack: " + change.name, func(m []member, at func(string) int) []member {
			m[at(".pack")].content = change.do(m[at(".pack")].content)
			return m
		}})
	}
	return attacks
}

type object struct {
	kind    byte
	content []byte
	claims  int64 // another size than that of the content
}

// objectsOf reads a pack without deltas.
func objectsOf(pack []byte) (objects []object) {
	count, rest := binary.BigEndian.Uint32(pack[8:]), bytes.NewReader(pack[12:])
	for range count {
		c, _ := rest.ReadByte()
		o := object{kind: c >> 4 & 7}
		for c&0x80 != 0 {
			c, _ = rest.ReadByte()
		}
		z, err := zlib.NewReader(rest)
		if err != nil {
			panic(err)
		}
		if o.content, err = io.ReadAll(z); err != nil {
			panic(err)
		}
		objects = append(objects, o)
	}
	return objects
}

func packOf(objects []object) []byte {
	var out bytes.Buffer
	out.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&out, binary.BigEndian, uint32(len(objects)))
	for _, o := range objects {
		size := int64(len(o.content))
		if o.claims != 0 {
			size = o.claims
		}
		c := o.kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out.WriteByte(c | 0x80)
			c = byte(size & 0x7f)
		}
		out.WriteByte(c)
		z := zlib.NewWriter(&out)
		_, _ = z.Write(o.content)
		_ = z.Close()
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

// TestHostileServersGainNothing has servers send what git clone would never make of a repository: there is no
// clone then, nothing beside the folder was written, and nothing is left.
func TestHostileServersGainNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo.Git("config", "remote.origin.url", "https://git.example.com/app.git")
	p.commit(oddFiles("one")...)
	members := p.checkoutMembers()
	whole := filepath.Join(t.TempDir(), "whole")
	if _, err := Clone(t.Context(), bytes.NewReader(pack(t, members)), whole, unpack.Options{}); err != nil {
		t.Fatalf("the archive itself: %v", err)
	}
	attacks := hostileArchives()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			parent := t.TempDir()
			changed := slices.Clone(members)
			for i := range changed {
				changed[i].content = slices.Clone(changed[i].content)
			}
			changed = a.change(changed, func(name string) int {
				return slices.IndexFunc(changed, func(m member) bool { return strings.HasSuffix(m.Name, name) })
			})
			_, err := Clone(t.Context(), bytes.NewReader(pack(t, changed)), filepath.Join(parent, "in"), unpack.Options{})
			if err == nil {
				t.Error("it was taken")
			} else if code := CodeOf(err); code != CodeUnsafe && code != CodeDamaged {
				t.Errorf("the code of %v is %s", err, code)
			}
			t.Log(err)
			_ = filepath.WalkDir(parent, func(name string, _ fs.DirEntry, _ error) error {
				if name != parent {
					t.Errorf("%s is left", name)
				}
				return nil
			})
		})
	}
	if len(attacks) < 190 {
		t.Errorf("%d attacks", len(attacks))
	}
}
