package cache

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// signedFor opens a bucket and signs the URL of an object x in it.
func signedFor(t *testing.T, address string) *url.URL {
	t.Helper()
	b, err := OpenBucket(t.Context(), address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	defer func() { _ = b.Close() }()
	signed, err := b.SignURL(t.Context(), "x", "x.tar", time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	u, err := url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func keys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// The location of a bucket follows from its URL: signing needs no request.
func TestAddressesOfS3(t *testing.T) {
	keys(t)
	for address, want := range map[string]string{
		"s3://archives?region=eu-central-1":                                                "https://archives.s3.eu-central-1.amazonaws.com/x",
		"s3://archives?region=eu-central-1&disable_https=true":                             "http://archives.s3.eu-central-1.amazonaws.com/x",
		"s3://archives?region=eu-central-1&use_path_style=true":                            "https://s3.eu-central-1.amazonaws.com/archives/x",
		"s3://with.dots?region=eu-central-1":                                               "https://s3.eu-central-1.amazonaws.com/with.dots/x",
		"s3://archives?region=us-east-1&endpoint=http://minio:9000&use_path_style=true":    "http://minio:9000/archives/x",
		"s3://archives?region=us-east-1&endpoint=http://minio:9000/&s3ForcePathStyle=true": "http://minio:9000/archives/x",
		"s3://archives?region=us-east-1&endpoint=https://example.com":                      "https://archives.example.com/x",
		"s3://archives?region=us-east-1&endpoint=http://127.0.0.1:7070":                    "http://127.0.0.1:7070/archives/x",
		"s3://archives?region=us-east-1&endpoint=" + url.QueryEscape("http://[::1]:7070") +
			"&prefix=a/": "http://[::1]:7070/archives/a/x",
		"s3://archives?region=us-east-1&endpoint=https://archives.example.com&use_path_style=true&prefix=repomcp-": "https://archives.example.com/archives/repomcp-x",
	} {
		if u := signedFor(t, address); u.Scheme+"://"+u.Host+u.Path != want {
			t.Errorf("%s leads to %s", address, u)
		}
	}
}

func TestCredentialsAndRegionOfS3(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(shared, []byte("[default]\naws_access_key_id = fromfile\naws_secret_access_key = "+
		"s\n[other]\naws_access_key_id = fromprofile\naws_secret_access_key = s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", shared)
	t.Setenv("AWS_CONFIG_FILE", shared)
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w,
			`{"AccessKeyId":"frommachine","SecretAccessKey":"s","Token":"t","Expiration":"2199-01-01T00:00:00Z"}`)
	}))
	defer machine.Close()
	for name, c := range map[string]struct {
		variables    map[string]string
		query        string
		credential   string
		sessionToken string
	}{
		"environment": {map[string]string{"AWS_ACCESS_KEY_ID": "fromenv", "AWS_SECRET_ACCESS_KEY": "s"},
			"region=eu-west-1", "fromenv/DATE/eu-west-1", ""},
		"token": {map[string]string{"AWS_ACCESS_KEY_ID": "fromenv", "AWS_SECRET_ACCESS_KEY": "s",
			"AWS_SESSION_TOKEN": "t"}, "region=eu-west-1", "fromenv/DATE/eu-west-1", "t"},
		"shared file": {nil, "region=eu-west-1", "fromfile/DATE/eu-west-1", ""},
		"profile": {map[string]string{"AWS_ACCESS_KEY_ID": "fromenv", "AWS_SECRET_ACCESS_KEY": "s"},
			"region=eu-west-1&profile=other", "fromprofile/DATE/eu-west-1", ""},
		"AWS_PROFILE": {map[string]string{"AWS_PROFILE": "other"}, "region=eu-west-1", "fromprofile/DATE/eu-west-1",
			""},
		"machine": {map[string]string{"AWS_PROFILE": "nobody", "AWS_CONTAINER_CREDENTIALS_FULL_URI": machine.URL},
			"region=eu-west-1", "frommachine/DATE/eu-west-1", "t"},
		"AWS_REGION": {map[string]string{"AWS_REGION": "eu-west-2", "AWS_DEFAULT_REGION": "eu-west-3"}, "",
			"fromfile/DATE/eu-west-2", ""},
		"other region": {map[string]string{"AWS_DEFAULT_REGION": "eu-west-3"}, "", "fromfile/DATE/eu-west-3", ""},
		"stated region": {map[string]string{"AWS_REGION": "eu-west-2"}, "region=eu-west-1", "fromfile/DATE/eu-west-1",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
				"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
				t.Setenv(variable, c.variables[variable])
			}
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", c.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
			q := signedFor(t, "s3://archives?"+c.query).Query()
			date, _, _ := strings.Cut(q.Get("X-Amz-Date"), "T")
			if want := strings.Replace(c.credential, "DATE", date, 1) +
				"/s3/aws4_request"; q.Get("X-Amz-Credential") != want ||
				q.Get("X-Amz-Security-Token") != c.sessionToken {
				t.Errorf("%v, not %s", q, want)
			}
		})
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for address, want := range map[string]string{
		"s3://":                                  "s3://BUCKET",
		"s3://archives/folder?region=x":          "s3://BUCKET",
		"s3://archives?regoin=eu-central-1":      `no parameter "regoin": there are endpoint, prefix, profile, region, disable_https, s3ForcePathStyle, use_path_style`,
		"s3://archives?use_path_style=perhaps":   "use_path_style of an s3:// URL is true or false",
		"s3://archives?endpoint=minio:9000":      "is not http://HOST:PORT",
		"s3://archives?endpoint=ftp://minio":     "is not http://HOST:PORT",
		"s3://archives?endpoint=http://minio/s3": "is not http://HOST:PORT",
		"s3://archives?region=%zz":               "parameters",
		"://":                                    "URL",
	} {
		_, err := OpenBucket(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A name is whatever a branch is called: it must not get out of the header.
func TestDownloadsOfTheBucketHaveNames(t *testing.T) {
	keys(t)
	b, err := OpenBucket(t.Context(), "s3://archives?region=us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for name, want := range map[string]string{
		"hello-main.tar.gz":      "attachment; filename=hello-main.tar.gz",
		`a" b\.tar`:              `attachment; filename="a\" b\\.tar"`,
		"ü.tar":                  "attachment; filename*=utf-8''%C3%BC.tar",
		"a\r\nSet-Cookie: x.tar": "attachment; filename*=utf-8''a%0D%0ASet-Cookie%3A%20x.tar",
	} {
		signed, err := b.SignURL(t.Context(), "x", name, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(signed)
		if err != nil || u.Query().Get("response-content-disposition") != want {
			t.Errorf("%q: %s, %v", name, signed, err)
		}
	}
}

// Each kind of bucket does what the interface says.
func TestBuckets(t *testing.T) {
	buckets(t, func(t *testing.T, b Bucket) {
		ctx := t.Context()
		for _, size := range []int{0, 1, partBytes - 1, partBytes, partBytes + 1, 3*partBytes + 5} {
			want := content(1, size)
			if err := b.Upload(ctx, "x", media,
				iotest.OneByteReader(bytes.NewReader(want[:min(size, 100)]))); err != nil {
				t.Fatal(err)
			}
			if err := b.Upload(ctx, "x", media, bytes.NewReader(want)); err != nil {
				t.Fatal(err)
			}
			if n, err := b.Size(ctx, "x"); n != int64(size) || err != nil {
				t.Errorf("the size is %d of %d, %v", n, size, err)
			}
			for _, part := range [][2]int{{0, 1}, {0, size}, {size / 2, 1}, {size - 1, 1}, {size / 2, size}} {
				if part[0] < 0 || part[1] == 0 || part[0] >= size {
					continue
				}
				r, err := b.Open(ctx, "x", int64(part[0]), int64(part[1]))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if _ = r.Close(); err != nil || !bytes.Equal(got, want[part[0]:min(size, part[0]+part[1])]) {
					t.Errorf("%v of %d: %d bytes and %v", part, size, len(got), err)
				}
			}
		}
		broken := errors.New("broken")
		for _, size := range []int{0, 1, 2*partBytes + 1} {
			if err := b.Upload(ctx, "y", media, io.MultiReader(bytes.NewReader(content(1, size)),
				iotest.ErrReader(broken))); !errors.Is(err, broken) {
				t.Errorf("a reader that fails after %d bytes: %v", size, err)
			}
		}
		if list := names(t, b); !slices.Equal(list, []string{"x"}) {
			t.Errorf("there are %v", list)
		}
		if err := b.Delete(ctx, "x"); err != nil {
			t.Error(err)
		}
		if _, err := b.Size(ctx, "x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the size of what is not there: %v", err)
		}
		if _, err := b.Open(ctx, "x", 0, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading what is not there: %v", err)
		}
		if err := b.Delete(ctx, "x"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removing what is not there: %v", err)
		}
	})
}

// A small object costs one request, and a service that is busy is asked again.
func TestSmallObjectsAreOneRequest(t *testing.T) {
	keys(t)
	var mu sync.Mutex
	var asked []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Content-Type")+" "+
			r.Header.Get("Content-Disposition")+" "+r.Header.Get("Cache-Control"))
		if len(asked) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer service.Close()
	b, err := OpenBucket(t.Context(), "s3://archives?region=us-east-1&endpoint="+url.QueryEscape(service.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if err := b.Upload(t.Context(), "x", media, bytes.NewReader(content(1, 1000))); err != nil {
		t.Fatal(err)
	}
	put := "PUT /archives/x " + media + " attachment private"
	if !slices.Equal(asked, []string{put, put}) {
		t.Errorf("the requests are %q", asked)
	}
}
