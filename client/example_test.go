package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/repomcp/repomcp/client"
)

// exampleServer stands for a server of repositories, whose only one has one file.
func exampleServer() *httptest.Server {
	const uri, content = "repo://hello/contents/README.md", "hello\n"
	results := map[string]any{
		"server/discover": map[string]any{"supportedVersions": []string{"2026-07-28"}},
		"resources/read repo://hello/contents": map[string]any{"contents": []any{map[string]any{
			"uri":  "repo://hello/contents",
			"text": `{"entries":[{"name":"README.md","type":"file","size":6,"uri":"repo://hello/contents/README.md"}]}`,
		}}},
		"resources/read repo://hello/refs/heads/main": map[string]any{"contents": []any{map[string]any{
			"uri": "repo://hello/refs/heads/main", "text": `{"commit":"3ff53e025c901ee7c1c5ff8497c213584a8b4958"}`,
		}}},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := strings.TrimSpace(r.Header.Get("Mcp-Method") + " " + r.Header.Get("Mcp-Name"))
		sum := sha256.Sum256([]byte(content))
		var message struct{ ID json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&message) // a plain download has none
		switch result := results[asked]; {
		case result != nil:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": message.ID, "result": result})
		case asked == "resources/stream "+uri || r.URL.Path == "/raw/hello/main/README.md":
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w,
				`{"jsonrpc":"2.0","error":{"code":-32602,"message":"No such file.","data":{"reason":"not_found"}}}`)
		}
	}))
}

func Example() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, server.URL+"/mcp", client.Options{Authorization: "Bearer …", MaxStreamSize: 1 << 30})
	if err != nil {
		panic(err)
	}
	for entry, err := range c.List(ctx, "repo://hello/contents") {
		if err != nil {
			panic(err)
		}
		d, err := c.Stream(ctx, entry.URI)
		if err != nil {
			panic(err)
		}
		if _, err := io.Copy(os.Stdout, d); err != nil {
			panic(err)
		}
		_ = d.Close() // only read from
		fmt.Println(entry.Name, d.Size)
	}
	// Output:
	// hello
	// README.md 6
}

func ExampleClient_Stream() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL+"/mcp", client.Options{Authorization: "Bearer …", MaxStreamSize: 1 << 30})
	if err != nil {
		panic(err)
	}
	d, err := c.Stream(context.Background(), "repo://hello/contents/README.md")
	if err != nil {
		panic(err)
	}
	defer func() { _ = d.Close() }() // only read from
	// An error of the copy means that the bytes are incomplete or damaged.
	if _, err := io.Copy(os.Stdout, d); err != nil {
		panic(err)
	}
	fmt.Println(d.MIMEType, d.Size)
	// Output:
	// hello
	// text/plain 6
}

func ExampleOpen() {
	server := exampleServer()
	defer server.Close()
	d, err := client.Open(context.Background(), server.URL+"/raw/hello/main/README.md", client.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = d.Close() }() // only read from
	if _, err := io.Copy(os.Stdout, d); err != nil {
		panic(err)
	}
	// Output:
	// hello
}

// What an earlier process has of a file is not downloaded again.
func ExampleOpenRest() {
	server := exampleServer()
	defer server.Close()
	have := client.Part{ETag: `"1"`, Content: strings.NewReader("hel")}
	d, err := client.OpenRest(context.Background(), server.URL+"/raw/hello/main/README.md", have, client.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = d.Close() }() // only read from
	// The digest of the server is that of both parts.
	if _, err := io.Copy(os.Stdout, d); err != nil {
		panic(err)
	}
	// Output:
	// lo
}

func ExampleClient_Watch() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL+"/mcp", client.Options{})
	if err != nil {
		panic(err)
	}
	for state, err := range c.Watch(context.Background(), "repo://hello/refs/heads/main") {
		if err != nil {
			panic(err)
		}
		fmt.Println(state.Commit)
		break
	}
	// Output:
	// 3ff53e025c901ee7c1c5ff8497c213584a8b4958
}

func ExampleError() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL+"/mcp", client.Options{})
	if err != nil {
		panic(err)
	}
	_, err = c.Stream(context.Background(), "repo://hello/contents/none")
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code, refused.NotFound())
		fmt.Println(refused.Message)
	}
	// Output:
	// 400 -32602 true
	// No such file.
}
