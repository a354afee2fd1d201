package httpx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// What was there before binary transfer stays as it is, to the byte, for all who do
// not ask for something else and can take it.
func TestBase64Stays(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, pictured)
	for _, version := range eras {
		for name, c := range map[string]struct {
			capabilities map[string]any
			accept       string
			mode         any
		}{
			"not declared": {map[string]any{}, acceptParts, "binary"},
			"not supported": {map[string]any{"binaryTransfer": map[string]any{"supported": false}}, acceptParts,
				"binary"},
			"supported as a text": {map[string]any{"binaryTransfer": map[string]any{"supported": "true"}},
				acceptParts, "binary"},
			"declared as a text": {map[string]any{"binaryTransfer": "yes"}, acceptParts, "binary"},
			"another transport": {map[string]any{"binaryTransfer": map[string]any{"supported": true,
				"preferredMode": "websocket-binary"}}, acceptParts, "binary"},
			"a mode that is none": {map[string]any{"binaryTransfer": map[string]any{"supported": true, "preferredMode": 7}}, acceptParts,
				"binary"},
			"not asked":             {extended(supported), acceptParts, nil},
			"asked for base64":      {extended(supported), acceptParts, "base64"},
			"parts not accepted":    {extended(supported), acceptBoth, "binary"},
			"parts are unwelcome":   {extended(supported), acceptBoth + ", */*, multipart/mixed;q=0", "binary"},
			"another multipart":     {extended(supported), acceptBoth + ", multipart/form-data", "binary"},
			"not asked, RFC":        {map[string]any{"binaryTransfer": supported}, acceptBoth, nil},
			"the other declaration": {map[string]any{"resourceStreaming": map[string]any{}}, acceptParts, "binary"},
		} {
			client := s.declaring(version, c.capabilities)
			for _, request := range []struct {
				method string
				params map[string]any
			}{
				{methodRead, map[string]any{"uri": "repo://repo/contents/dot.png"}},
				{methodRead, map[string]any{"uri": "repo://repo/contents/text.md"}},
				{methodRead, map[string]any{"uri": "repo://repo/contents/large"}},
				{methodRead, map[string]any{"uri": "repo://repo/archive/main.tar"}},
				{"tools/call", map[string]any{"name": "get_file_contents", "arguments": map[string]any{"repo": "repo",
					"path": "dot.png"}}},
			} {
				before := text(t, s.declaring(version, map[string]any{}).ask(acceptBoth, request.method,
					request.params))
				if c.mode != nil {
					request.params["transferMode"] = c.mode
				}
				response := client.ask(c.accept, request.method, request.params)
				if got := text(t, response); got != before ||
					response.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s in %s: %v became %s, was %.300s", name, version, request, describe(response, got),
						before)
				}
			}
		}
	}
}

// A batch has one reply for all, which has no place for bytes.
func TestBatchesGetBase64(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, pictured)
	client := s.receiver(batchVersion, supported)
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": methodRead,
		"params": map[string]any{"uri": "repo://repo/contents/dot.png", "transferMode": "binary"}}
	header := maps.Clone(client.session)
	header["Accept"] = []string{acceptParts}
	response := s.post(header, []any{request, request})
	if got := text(t, response); strings.Count(got, `"blob":"iVBORw0KGgo`) != 2 ||
		response.Header.Get("Content-Type") != "application/json" {
		t.Error(describe(response, got))
	}
}

func TestBinarySizesAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, pictured)
	for _, version := range eras {
		tight := s.receiver(version, map[string]any{"supported": true, "maxBinarySize": len(pngBytes)})
		if _, stream, _ := received(t, tight.read("repo://repo/contents/dot.png")); string(stream.body) != pngBytes {
			t.Errorf("%d bytes", len(stream.body))
		}
		for uri, want := range map[string]string{"repo://repo/contents/large": `"size":5242880`,
			"repo://repo/archive/main.tar": `"size":`, "repo://repo": `"size":`} {
			response := tight.read(uri)
			if got := text(t, response); !strings.Contains(got, `"reason":"too_large"`) ||
				!strings.Contains(got, fmt.Sprintf(`"limit":%d`, len(pngBytes))) || !strings.Contains(got, want) ||
				!strings.Contains(got, "maxBinarySize") || !strings.Contains(got, `"uri":"`+uri+`"`) {
				t.Errorf("%s in %s: %s", uri, version, describe(response, got))
			}
		}
		// What is not known before is found out while it is made, and known from then on.
		_, err := plainParts(tight.read("repo://repo/archive/main.tar.gz?prefix=" + version + "/"))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an archive beyond the limit ended with %v in %s", err, version)
		}
		if got := text(t, tight.read("repo://repo/archive/main.tar.gz?prefix="+version+"/")); !strings.Contains(got,
			`"reason":"too_large"`) {
			t.Errorf("once more in %s: %s", version, got)
		}
		for _, size := range []any{0, -1, "many", true, []any{}, 0.5} {
			response := s.receiver(version, map[string]any{"supported": true, "maxBinarySize": size}).read(
				"repo://repo/contents/dot.png")
			if got := text(t, response); !strings.Contains(got, `"code":-32602`) ||
				!strings.Contains(got, "maxBinarySize") {
				t.Errorf("a limit of %v in %s: %s", size, version, describe(response, got))
			}
		}
		for _, size := range []any{nil, 1e300} {
			if _, stream, _ := received(t,
				s.receiver(version, map[string]any{"supported": true, "maxBinarySize": size}).read(
					"repo://repo/contents/dot.png")); string(stream.body) != pngBytes {
				t.Errorf("a limit of %v: %d bytes", size, len(stream.body))
			}
		}
	}
	s.log.Await(t, "maxBinarySize")
}

func TestBinaryTransferIsDeclaredWhereItWorks(t *testing.T) {
	t.Parallel()
	s := serve(t)
	capabilities := func(raw string) (top, extension string) {
		var reply struct {
			Result struct {
				Capabilities struct {
					BinaryTransfer json.RawMessage            `json:"binaryTransfer"`
					Extensions     map[string]json.RawMessage `json:"extensions"`
				} `json:"capabilities"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(raw), &reply); err != nil {
			t.Fatal(raw, err)
		}
		return string(reply.Result.Capabilities.BinaryTransfer), string(
			reply.Result.Capabilities.Extensions["io.github.repomcp/binary-transfer"])
	}
	const form = `{"supported":true,"maxBinarySize":10737418240,"supportedModes":["%s"]}`
	initialize := map[string]any{"protocolVersion": sessionVersion, "clientInfo": map[string]any{"name": "test",
		"version": "1"}, "capabilities": map[string]any{}}
	for _, raw := range []string{
		text(t, s.post(http.Header{"Accept": {acceptBoth}}, map[string]any{"jsonrpc": "2.0", "id": 1,
			"method": "initialize", "params": initialize})),
		text(t, s.modern("server/discover", nil)),
	} {
		if top, extension := capabilities(raw); top != fmt.Sprintf(form, "multipart") || extension != top {
			t.Errorf("%q and %q", top, extension)
		}
	}
	socket := dial(t, s.url)
	for _, message := range []string{rpc(sessionVersion, 1, "initialize", initialize),
		rpc(modernVersion, 2, "server/discover", nil)} {
		if top, extension := capabilities(socket.call(message).raw); top != fmt.Sprintf(form, "websocket-binary") ||
			extension != top {
			t.Errorf("over WebSocket: %q and %q", top, extension)
		}
	}
}
