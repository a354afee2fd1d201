//go:build cloud

package cache

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// gcs speaks as much of Google's storage as the driver uses: uploads in one
// request and in several, reads, attributes, deletion and lists of one bucket.
type gcs struct {
	mu      sync.Mutex
	objects map[string][]byte
	partial map[string][]byte // by their upload
}

const (
	gcsObjects = "/storage/v1/b/archives/o"
	gcsUpload  = "/upload/storage/v1/b/archives/o"
)

func (g *gcs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // an upload that was given up
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name, inObjects := strings.CutPrefix(r.URL.Path, gcsObjects+"/")
	switch {
	case r.URL.Path == gcsUpload:
		g.upload(w, r, body)
	case r.URL.Path == gcsObjects:
		g.list(w)
	case inObjects && g.objects[name] == nil:
		http.Error(w, `{"error":{"code":404,"message":"no such object"}}`, http.StatusNotFound)
	case inObjects && r.Method == http.MethodDelete:
		delete(g.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case inObjects && r.URL.Query().Get("alt") != "media":
		g.describe(w, name)
	default:
		g.read(w, r, strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/archives/"), gcsObjects+"/"))
	}
}

func (g *gcs) read(w http.ResponseWriter, r *http.Request, name string) {
	if g.objects[name] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("X-Goog-Generation", "1")
	w.Header().Set("X-Goog-Metageneration", "1")
	w.Header().Set("Content-Type", media)
	http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(g.objects[name]))
}

func (g *gcs) upload(w http.ResponseWriter, r *http.Request, body []byte) {
	query := r.URL.Query()
	switch {
	case query.Get("uploadType") == "multipart":
		_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
		var name string
		for i := range 2 {
			part, err := parts.NextPart()
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			content, _ := io.ReadAll(part)
			if i == 0 {
				name = nameIn(content)
				continue
			}
			g.objects[name] = append([]byte{}, content...)
		}
		g.describe(w, name)
	case query.Get("session") == "":
		w.Header().Set("Location", "http://"+r.Host+gcsUpload+"?session="+nameIn(body))
	default:
		g.part(w, r, query.Get("session"), body)
	}
}

// part adds to an upload that takes several requests.
func (g *gcs) part(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	g.partial[name] = append(g.partial[name], body...)
	if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
		w.Header().Set("X-HTTP-Status-Code-Override", "308")
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(g.partial[name])-1))
		return
	}
	g.objects[name] = append([]byte{}, g.partial[name]...)
	delete(g.partial, name)
	g.describe(w, name)
}

func nameIn(object []byte) string {
	var o struct{ Name string }
	_ = json.Unmarshal(object, &o) // the empty name is no object's
	return o.Name
}

func (g *gcs) object(name string) map[string]any {
	return map[string]any{
		"kind": "storage#object", "bucket": "archives", "name": name, "size": strconv.Itoa(len(g.objects[name])),
		"generation": "1", "metageneration": "1",
		"contentType": media, "updated": "1970-01-01T00:00:01Z", "timeCreated": "1970-01-01T00:00:01Z", "etag": "1",
	}
}

func (g *gcs) describe(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(g.object(name)) // the client may be gone
}

func (g *gcs) list(w http.ResponseWriter) {
	var names []string
	for name := range g.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	items := make([]any, 0, len(names))
	for _, name := range names {
		items = append(items, g.object(name))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": items}) // the client may be gone
}

func gcsBucket(t *testing.T, query string) Bucket {
	t.Helper()
	server := httptest.NewServer(&gcs{objects: make(map[string][]byte), partial: make(map[string][]byte)})
	t.Cleanup(server.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", server.Listener.Addr().String())
	b, err := OpenBucket(t.Context(), "gs://archives?anonymous=true"+query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return b
}

func TestGCSRedirects(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
		Bytes: x509.MarshalPKCS1PrivateKey(private)}), 0o600); err != nil {
		t.Fatal(err)
	}
	b := gcsBucket(t, "&access_id=robot@example.com&private_key_path="+url.QueryEscape(path))
	defer func() { _ = b.Close() }()
	s := &source{bytes: content(1, 3*partBytes)}
	first := replica(t, b)
	mustRead(t, first, KeyOf("x"), s)
	idle(first)
	e, err := replica(t, b).Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	// Addresses are signed for https. That of the real service is asked for, or
	// the emulator's.
	address, err := e.Redirect(t.Context(), "x.tar")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Path, KeyOf("x").String()) ||
		u.Query().Get("GoogleAccessId") != "robot@example.com" || u.Query().Get("Signature") == "" {
		t.Errorf("%s, %v", address, err)
	}
	seconds, err := strconv.ParseInt(u.Query().Get("Expires"), 10, 64)
	if left := time.Until(time.Unix(seconds, 0)); err != nil || left > RedirectExpiry || left < RedirectExpiry/2 {
		t.Errorf("it can be used for %v, %v", left, err)
	}
}
