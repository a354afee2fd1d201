package checkout_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
)

// exampleServer stands for a server of repositories, whose only one has two files.
func exampleServer() *httptest.Server {
	const commit = "3ff53e025c901ee7c1c5ff8497c213584a8b4958"
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Mcp-Method") == "resources/stream":
			w.Header().Set("Content-Type", "application/x-tar")
			w.Header().Set("Content-Location", "repo://group/project/archive/"+commit+".tar?profile=full")
			archive := tar.NewWriter(w)
			for _, name := range []string{"README.md", "main.go"} {
				content := "the content of " + name + "\n"
				_ = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
				_, _ = io.WriteString(archive, content)
			}
			_ = archive.Close()
		case r.Method == http.MethodHead:
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Link", "</archive/group/project/"+commit+`.tar?profile=full>; rel="immutable"`)
		default:
			http.NotFound(w, r)
		}
	}))
}

func ExampleSync() {
	server := exampleServer()
	defer server.Close()
	parent, err := os.MkdirTemp("", "checkout")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(parent) }()
	dir := filepath.Join(parent, "project")

	ctx := context.Background()
	c, err := client.New(server.URL+"/mcp", client.Options{Authorization: "Bearer …"})
	if err != nil {
		panic(err)
	}
	o := checkout.Options{Repository: "group/project", Ref: "main", Dir: dir, Plain: true}
	result, err := checkout.Sync(ctx, c, o)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Written, "files of", result.Commit)

	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("edited"), 0o600); err != nil {
		panic(err)
	}
	o.Verify = true
	if result, err = checkout.Sync(ctx, c, o); err != nil {
		panic(err)
	}
	for _, path := range result.Kept {
		fmt.Println("changed here, and kept:", path)
	}
	// Output:
	// 2 files of 3ff53e025c901ee7c1c5ff8497c213584a8b4958
	// changed here, and kept: main.go
}

func ExampleFollow() {
	server := exampleServer()
	defer server.Close()
	dir, err := os.MkdirTemp("", "checkout")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := client.New(server.URL+"/mcp", client.Options{})
	if err != nil {
		panic(err)
	}
	err = checkout.Follow(ctx, c, checkout.Options{
		Repository: "group/project", Ref: "main", Dir: dir, Plain: true,
		Events: func(e checkout.Event) {
			switch e.Event {
			case checkout.EventWrite, checkout.EventDelete:
				fmt.Println(e.Event, e.Path)
			case checkout.EventDone:
				fmt.Println("at", e.Commit)
				stop() // a program goes on for as long as it wants
			}
		},
	})
	fmt.Println(err) // that ctx has ended, or why there is no sense in going on
	// Unordered output:
	// write README.md
	// write main.go
	// at 3ff53e025c901ee7c1c5ff8497c213584a8b4958
	// context canceled
}
