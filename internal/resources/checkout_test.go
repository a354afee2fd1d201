package resources

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
)

// memberOf returns the content of a member of a tar.
func memberOf(t *testing.T, archived []byte, name string) string {
	t.Helper()
	for tr := tar.NewReader(bytes.NewReader(archived)); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("the archive has no %s", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != name {
			continue
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}

// linking makes links with an address.
func linking(t *testing.T) Linking {
	t.Helper()
	base, err := links.ParseBase("https://mirror.example/base")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := links.New(links.Options{Keys: keys, Base: base, Nonces: links.NewMemory(time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	return Linking{Authority: authority, Base: base, Lifetime: time.Minute}
}

// A checkout fetches from what the client or the operator says, or from this server or the mirror's
// origin, and no address has credentials or is on this machine.
func TestOriginsOfCheckouts(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const upstream = "https://forge.example/up/stream.git"
	for name, c := range map[string]struct {
		query, template, mirror string
		git, linked             bool
		url, push               string
	}{
		"nothing is known":      {},
		"the mirror's":          {mirror: upstream, url: upstream},
		"of ssh":                {mirror: "git@forge.example:up/stream.git", url: "git@forge.example:up/stream.git"},
		"without credentials":   {mirror: "https://me:secret@forge.example/up", url: "https://forge.example/up"},
		"a path":                {mirror: "/srv/upstream.git"},
		"a file":                {mirror: "file:///srv/upstream.git"},
		"a helper":              {mirror: "ext::sh -c true"},
		"the server's":          {mirror: upstream, git: true, linked: true, url: "https://mirror.example/base/git/repo", push: upstream},
		"the server's alone":    {git: true, linked: true, url: "https://mirror.example/base/git/repo"},
		"no address":            {mirror: upstream, git: true, url: upstream},
		"no git":                {mirror: upstream, linked: true, url: upstream},
		"the operator's":        {template: "https://git.example/{repo}.git", mirror: upstream, git: true, linked: true, url: "https://git.example/repo.git"},
		"the client's":          {query: "&origin=ssh://git@x.example/y", template: "https://git.example/{repo}.git", url: "ssh://git@x.example/y"},
		"the client's and push": {query: "&origin=https://x.example/y&pushurl=https://z.example/y", url: "https://x.example/y", push: "https://z.example/y"},
		"the client wants none": {query: "&origin=none", mirror: upstream},
	} {
		s, _, repo := limited(t, nil)
		if c.mirror != "" {
			repo.Git("config", "remote.origin.url", c.mirror)
		}
		s.options.CheckoutOrigin, s.options.GitClients = c.template, c.git
		if c.linked {
			s.options.Links = linking(t)
		}
		found := mustFind(t, s, "repo://repo/archive/main.tar?profile=checkout"+c.query)
		var out bytes.Buffer
		if _, err := write(t, found, Want{}, &out); err != nil {
			t.Fatal(err)
		}
		config := memberOf(t, out.Bytes(), ".git/config")
		for key, want := range map[string]string{"url": c.url, "pushurl": c.push} {
			if line := "\t" + key + " = " + want + "\n"; strings.Contains(config, "\t"+key+" =") != (want != "") ||
				want != "" && !strings.Contains(config, line) {
				t.Errorf("%s: the %s is not %q in\n%s", name, key, want, config)
			}
		}
		if want := "repo://repo/archive/" + found.Commit + ".tar?profile=checkout&refname=HEAD:refs/heads/main&origin="; !strings.HasPrefix(found.Frozen, want) {
			t.Errorf("%s: the URI by commit is %s, want %s…", name, found.Frozen, want)
		}
		// Another server with other settings finds the same.
		other, _, _ := limited(t, nil)
		other.options.Catalogue, other.options.CheckoutOrigin = s.options.Catalogue, "https://other.example/{repo}"
		again := mustFind(t, other, found.Frozen)
		if again.ETag != found.ETag || again.Frozen != found.Frozen || !again.Immutable || found.Immutable {
			t.Errorf("%s: by commit it is %+v", name, again)
		}
	}
}

func TestTemplatesOfOriginsAreChecked(t *testing.T) {
	t.Parallel()
	for template, valid := range map[string]bool{
		"https://git.example/{repo}.git": true, "git@git.example:{repo}.git": true, "https://git.example/": false,
		"/srv/{repo}": false, "https://user:secret@git.example/{repo}": false, "{repo}": false,
	} {
		if err := CheckOriginTemplate(template); (err == nil) != valid {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// A checkout of a branch, a tag or a commit is found again by its URI by commit, through the cache
// and through a link.
func TestCheckoutsAreFoundAgain(t *testing.T) {
	t.Parallel()
	s, c, _, repo := caching(t)
	repo.Git("tag", "-a", "-m", "one", "v1.0", "main")
	s.options.Links = linking(t)
	for i, revision := range []string{"HEAD", "main", "refs/heads/main", "v1.0", repo.Git("rev-parse", "main"), "main~0"} {
		found := mustFind(t, s, "repo://repo/archive/"+revision+".tar.gz?profile=checkout&origin=none")
		var first, second bytes.Buffer
		if _, err := write(t, found, Want{}, &first); err != nil {
			t.Fatal(err)
		}
		url, _, err := s.DownloadLink(t.Context(), found)
		if err != nil {
			t.Fatal(err)
		}
		_, token, _ := strings.Cut(url, "/dl/")
		link, err := s.FindLink(t.Context(), token, links.Use{Method: "GET"})
		if err != nil {
			t.Fatalf("%s: %v", revision, err)
		}
		if _, err := write(t, link.Found, Want{}, &second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: %d bytes by the link, want %d, %v", revision, second.Len(), first.Len(), err)
		}
		if err := link.Close(); err != nil {
			t.Error(err)
		}
		if stats := c.Stats(); stats.Failures != 0 {
			t.Errorf("%s, the archive %d: %+v", revision, i, stats)
		}
		again := mustFind(t, s, found.URI)
		if again.URI != found.URI || again.ETag != found.ETag {
			t.Errorf("%s: %s leads to %s", revision, found.URI, again.URI)
		}
	}
}

// The memory that is reserved grows with the number of objects.
func TestCheckoutsReserveWhatTheyTake(t *testing.T) {
	t.Parallel()
	s, l, _ := limited(t, nil)
	found := mustFind(t, s, "repo://repo/archive/main.tar?profile=checkout")
	body, err := found.Open(t.Context(), Want{Method: Get})
	if err != nil {
		t.Fatal(err)
	}
	if n, want := reserved(l), found.plan().Memory(); n != want || n <= archive.Tar.Memory() {
		t.Errorf("%d bytes are reserved, want %d, which is more than %d", n, want, archive.Tar.Memory())
	}
	if body.Size != UnknownSize {
		t.Errorf("the size is %d before the archive was made", body.Size)
	}
	var out bytes.Buffer
	if err := body.WriteTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	// A part is that of the whole.
	part, err := found.Open(t.Context(), Want{Method: Get, Range: &Range{First: 1000, Last: 4_200_000, Suffix: -1}})
	if err != nil {
		t.Fatal(err)
	}
	var ranged bytes.Buffer
	err = part.WriteTo(t.Context(), &ranged)
	if err != nil || !bytes.Equal(ranged.Bytes(), out.Bytes()[1000:4_200_001]) {
		t.Errorf("a range has %d bytes, %v", ranged.Len(), err)
	}
	if err := part.Close(); err != nil {
		t.Error(err)
	}
}

// Subscribers are told that a checkout is of another branch, even if the commit is the same.
func TestIdentityOfCheckouts(t *testing.T) {
	t.Parallel()
	s, _, repo := limited(t, nil)
	repo.Git("branch", "other", "main")
	ids := map[string]bool{}
	for _, head := range []string{"refs/heads/main", "refs/heads/other"} {
		repo.Git("symbolic-ref", "HEAD", head)
		for _, revision := range []string{"HEAD", "other"} {
			r, err := Parse("repo://repo/archive/"+revision+".tar?profile=checkout", s.names(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			snapshot, err := s.options.Catalogue.For(t.Context()).Snapshot("repo")
			if err != nil {
				t.Fatal(err)
			}
			id, err := Identity(t.Context(), snapshot, r)
			if err = errors.Join(err, snapshot.Close()); err != nil {
				t.Fatal(err)
			}
			ids[id] = true
		}
	}
	if len(ids) != 3 { // main by default, other by default, and other beside it
		t.Errorf("there are %d identities, want 3", len(ids))
	}
}
