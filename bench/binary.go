package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/repomcp/repomcp/client"
)

// binaryRequest asks for the file as one message of 2026-07-28: METHOD, and more of
// its params.
const binaryRequest = `'{"jsonrpc":"2.0","id":1,"method":"%s","params":{"uri":"repo://` + repositoryName +
	`/contents/noise.bin",%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"resourceStreaming":{},"binaryTransfer":{"supported":true}}}}}'`

const inBinary = `"transferMode":"binary",`

// post is the request over HTTP.
func post(method, more string) string {
	return `exec curl -sS --fail "$URL/mcp" -H 'Content-Type: application/json' ` +
		`-H 'Accept: application/json, text/event-stream, multipart/mixed, */*' -H 'MCP-Protocol-Version: 2026-07-28' ` +
		"-H 'Mcp-Method: " + method + "' -H 'Mcp-Name: repo://" + repositoryName + "/contents/noise.bin' -d " +
		fmt.Sprintf(binaryRequest, method, more)
}

// transfers are the ways of a large file through MCP. Of curl's rows MiB are the body as
// it was sent, and of a pipe all that the server wrote; the Go client's rows have the
// file, and the memory of the client.
func transfers() []comparison {
	const read, stream = "resources/read", "resources/stream"
	pipe := `"stdio:$BIN stdio --root $ROOT"`
	return []comparison{{
		key: "transfers", title: "a file of 64 MiB over MCP", corpora: []string{"noise"}, contestants: []contestant{
			{name: read + ", base64", command: post(read, ""), server: true},
			{name: read + ", parts of the reply", command: post(read, inBinary), server: true},
			{name: stream, command: post(stream, ""), server: true},
			{name: read + ", frames over WebSocket", command: `exec $PEER fetch "ws${URL#http}/ws"`, server: true},
			{name: read + ", chunks over stdio", command: "echo " + fmt.Sprintf(binaryRequest, read, inBinary) +
				` | "$BIN" stdio --root "$ROOT"`},
			{name: "Go client, parts", command: `exec $PEER fetch "$URL/mcp"`},
			{name: "Go client, frames", command: `exec $PEER fetch "ws${URL#http}/ws"`},
			{name: "Go client, chunks, with its server", command: "exec $PEER fetch " + pipe},
		},
	}}
}

// fetchFile downloads the file with the Go client, as bytes beside the answer.
func fetchFile(ctx context.Context, endpoint string) (err error) {
	c, err := client.Connect(ctx, endpoint, client.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	d, err := c.Fetch(ctx, "repo://"+repositoryName+"/contents/noise.bin")
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, d)
	return errors.Join(err, d.Close())
}
