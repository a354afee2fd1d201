package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/repomcp/repomcp/client"
)

// exampleServer stands for a server of repositories, whose only one has one file.
func exampleServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") != "repo://hello/contents/README.md" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No such file."}}`)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello\n")
	}))
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
	// An error of the copy says that the bytes are not all, or not the server's.
	if _, err := io.Copy(os.Stdout, d); err != nil {
		panic(err)
	}
	fmt.Println(d.MIMEType, d.Size)
	// Output:
	// hello
	// text/plain 6
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
		fmt.Println(refused.Status, refused.Code)
		fmt.Println(refused.Message)
	}
	// Output:
	// 400 -32602
	// No such file.
}
