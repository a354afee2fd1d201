//go:build cloud

package cache

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// azure implements the part of the REST API of Azure's blobs that the driver uses: Put Blob, Put
// Block, Put Block List, Get Blob, Get Blob Properties, Delete Blob and List Blobs of one container.
// It accepts every signature.
type azure struct {
	mu     sync.Mutex
	blobs  map[string][]byte
	blocks map[string][]byte
	// refused is what part of a name is not written.
	refused string
}

const azureContainer = "/account/archives/"

func (a *azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // an upload that was given up
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	query := r.URL.Query()
	signed := strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey account:") || query.Get("sig") != ""
	key := strings.TrimPrefix(r.URL.Path, azureContainer)
	content, known := a.blobs[key]
	switch {
	case !signed:
		w.WriteHeader(http.StatusForbidden)
	case query.Get("comp") == "list":
		a.list(w)
	case r.Method == http.MethodPut && a.refused != "" && strings.Contains(key, a.refused):
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut:
		a.put(w, query, key, body)
	case !known:
		w.Header().Set("x-ms-error-code", "BlobNotFound")
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(a.blobs, key)
		w.WriteHeader(http.StatusAccepted)
	default:
		if part := r.Header.Get("x-ms-range"); part != "" {
			r.Header.Set("Range", part)
		}
		w.Header().Set("x-ms-creation-time", "Thu, 01 Jan 1970 00:00:01 GMT")
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Type", media)
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader(string(content)))
	}
}

func (a *azure) put(w http.ResponseWriter, query url.Values, key string, body []byte) {
	switch query.Get("comp") {
	case "block":
		a.blocks[key+"#"+query.Get("blockid")] = body
	case "blocklist":
		var list struct {
			Latest []string `xml:"Latest"`
		}
		if err := xml.Unmarshal(body, &list); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var whole []byte
		for _, id := range list.Latest {
			whole = append(whole, a.blocks[key+"#"+id]...)
		}
		a.blobs[key] = whole
	default:
		a.blobs[key] = body
	}
	w.WriteHeader(http.StatusCreated)
}

func (a *azure) list(w http.ResponseWriter) {
	var names []string
	for name := range a.blobs {
		names = append(names, name)
	}
	slices.Sort(names)
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, `<?xml version="1.0"?><EnumerationResults><Blobs>`)
	for _, name := range names {
		_, _ = fmt.Fprintf(w,
			`<Blob><Name>%s</Name><Properties><Last-Modified>Thu, 01 Jan 1970 00:00:01 GMT</Last-Modified><Etag>"1"</Etag><Content-Length>%d</Content-Length></Properties></Blob>`, name, len(a.blobs[name]))
	}
	_, _ = io.WriteString(w, `</Blobs></EnumerationResults>`)
}

func azureBucket(t *testing.T, refused string) (b Bucket, host string) {
	t.Helper()
	server := httptest.NewServer(&azure{blobs: make(map[string][]byte), blocks: make(map[string][]byte),
		refused: refused})
	t.Cleanup(server.Close)
	// The driver reads its environment once in a process.
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
	host = server.Listener.Addr().String()
	b, err := OpenBucket(t.Context(), "azblob://archives?protocol=http&domain="+host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return b, host
}

// objectOf is the entry that a new replica has of an object in the bucket. One that a
// busy machine answers too late builds by itself, as it should: another is asked.
func objectOf(t *testing.T, b Bucket, key Key, s *source) *Entry {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		e, err := replica(t, b).Get(t.Context(), key, media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		if e.object != nil {
			return e
		}
		e.Close()
		if time.Now().After(deadline) {
			t.Fatal("the bucket never answers in time")
		}
	}
}

func TestAzureRedirects(t *testing.T) {
	b, host := azureBucket(t, "")
	defer func() { _ = b.Close() }()
	s := &source{bytes: content(1, 3*partBytes)}
	first := replica(t, b)
	mustRead(t, first, KeyOf("x"), s)
	idle(first)
	e := objectOf(t, b, KeyOf("x"), s)
	defer e.Close()
	address, err := e.Redirect(t.Context(), "x.tar")
	for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); {
		address, err = e.Redirect(t.Context(), "x.tar")
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host != host || u.Query().Get("sp") != "r" || u.Query().Get("sr") != "b" {
		t.Errorf("%s, %v", address, err)
	}
	expires, err := time.Parse(time.RFC3339, u.Query().Get("se"))
	if left := time.Until(expires); err != nil || left > RedirectExpiry || left < RedirectExpiry/2 {
		t.Errorf("it can be used for %v, %v", left, err)
	}
	if status, header, got := load(t, address); status != http.StatusOK || got != string(s.bytes) ||
		header.Get("Content-Length") != strconv.Itoa(len(s.bytes)) {
		t.Errorf("status %d, %v, %d bytes", status, header, len(got))
	}
	if status, _, _ := load(t, strings.SplitN(address, "?", 2)[0]); status != http.StatusForbidden {
		t.Errorf("without a signature: %d", status)
	}
}

// The writer of the driver panics where an upload has failed before it is
// closed: that must not end the server.
func TestAzureRefusesAnUpload(t *testing.T) {
	for name, refused := range map[string]string{"bytes": KeyOf("x").String(), "seal": sealSuffix} {
		t.Run(name, func(t *testing.T) {
			b, _ := azureBucket(t, refused)
			defer func() { _ = b.Close() }()
			for _, size := range []int{0, 1, 4 * partBytes} {
				c := replica(t, b)
				mustRead(t, c, KeyOf("x"), &source{bytes: content(1, size)})
				idle(c)
				if stats := c.Stats(); stats.UploadFaults != 1 || stats.Uploads != 0 {
					t.Errorf("%d bytes: %+v", size, stats)
				}
			}
		})
	}
}
