package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/resources"
)

// readable are bodies with what is read of them, as [written] writes it.
var readable = map[string][]string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                     {`{"id":1,"jsonrpc":"2.0","method":"ping"}`},
	"\t\r\n {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} \n":                 {`{"id":1,"jsonrpc":"2.0","method":"ping"}`},
	`{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":[1,2]}}`:                 {`{"id":"a","jsonrpc":"2.0","method":"x","params":{"a":[1,2]}}`},
	`{"jsonrpc":"2.0","method":"x"}`:                                               {`{"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":1,"result":{}}`:                                         {`{"id":1,"jsonrpc":"2.0"}`},
	`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`:                     {`{"id":1,"jsonrpc":"2.0"}`},
	`{"jsonrpc":"2.0","id":-0,"method":"x"}`:                                       {`{"id":0,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":"\u0061","method":"\u0070ing"}`:                         {`{"id":"a","jsonrpc":"2.0","method":"ping"}`},
	`{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"x"}`:                           {`{"id":"😀","jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}`:                         {`{"id":9007199254740993,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":-18446744073709551617,"method":"x"}`:                    {`{"id":-18446744073709551617,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":1.0,"method":"x"}`:                                      {`{"id":1,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":-1.50e2,"method":"x"}`:                                  {`{"id":-150,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":1e3,"method":"x"}`:                                      {`{"id":1000,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":1,"method":"x","Method":"y","ID":2,"extra":{"id":3}}`:   {`{"id":1,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":1,"method":"x","Params":{"a":1}}`:                       {`{"id":1,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","method":"x","Id":5}`:                                        {`{"jsonrpc":"2.0","method":"x"}`},
	`{"json\u0072pc":"2.0","id":1,"method":"x"}`:                                   {`{"id":1,"jsonrpc":"2.0","method":"x"}`},
	`[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","method":"y","z":1}]`: {`{"id":1,"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","method":"y"}`},
	` [ {"jsonrpc":"2.0","id":1,"method":"x"} ] `:                                  {`{"id":1,"jsonrpc":"2.0","method":"x"}`},
	`{"jsonrpc":"2.0","id":1,"method":"x","params":` + nested(maxDepth-2) +
		`}`: {`{"id":1,"jsonrpc":"2.0","method":"x","params":` + nested(maxDepth-2) + `}`},
	`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxIDBytes-2) +
		`","method":"x"}`: {`{"id":"` + strings.Repeat("x", maxIDBytes-2) + `","jsonrpc":"2.0","method":"x"}`},
}

// nested is an object that is so many deep.
func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

func TestReadableMessagesKeepNothingButTheirOwn(t *testing.T) {
	t.Parallel()
	for body, want := range readable {
		messages, batch, err := ParseMessages([]byte(body))
		if err != nil {
			t.Errorf("%.120q: %v, %s", body, err, err.Message)
			continue
		}
		raws := make([]string, len(messages))
		for i, message := range messages {
			raws[i] = written(t, message)
		}
		if !slices.Equal(raws, want) || batch != strings.HasPrefix(strings.TrimSpace(body), "[") {
			t.Errorf("%.120q (batch %t):\n got %q\nwant %q", body, batch, raws, want)
		}
	}
	t.Logf("%d cases", len(readable))
}

const request = `"jsonrpc":"2.0","id":1,"method":"x"`

// unreadable are bodies that are refused, by reason.
var unreadable = map[resources.Reason][]string{
	ReasonParse: {
		"", " ", "\n", "x", "{", "[", "]", "{]", "{}{}", "[][]", "{} x", "{},", "\x00", "nul", "'x'", "{'a':1}",
		`{"a":1,}`, `{"a" 1}`, `{a:1}`, "[1,]", "[,1]", "01", "+1", ".5", "1.", "0x1", "NaN", "Infinity", "-", `"`,
		"\"\n\"", `"\x"`, `"\u12"`, "// x\n{}", "/**/{}",
		"\ufeff{}", "\xef\xbb\xbf{" + request + "}", "{\x00}", "\xfe\xff\x00{\x00}", "\xff\xfe{\x00}\x00", `{"a":"` +
			"\xff" + `"}`, `{"a":"` + "\xc0\xae" + `"}`, `{"a":"` + "\xed\xa0\x80" + `"}`, `{"` + "\xff" + `":1}`,
		`{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, `{"a":"\ud800\u0061"}`, `{"\ud800":1}`,
		`{` + request + `,"method":"y"}`, `{` + request + `,"id":2}`, `{` + request + `,"jsonrpc":"2.0"}`,
		`{` + request + `,"m\u0065thod":"y"}`, `{` + request + `,"params":{"a":1,"a":1}}`, `{` + request +
			`,"params":{"a":{"b":1,"\u0062":2}}}`, `[{` + request + `,"id":2}]`, `{` + request +
			`,"x":[{"a":1,"a":2}]}`,
	},
	ReasonRequest: {
		nested(maxDepth + 1), nested(100_000), strings.Repeat("[", 100_000), strings.Repeat("[", maxDepth+1) +
			strings.Repeat("]", maxDepth+1), strings.Repeat(`[{"a":`, 50_000), `{` + request + `,"params":` +
			nested(maxDepth) + `}`,
		"[" + strings.Repeat("1,", maxValues) + "1]", `{` + request + `,"params":{"a":[` +
			strings.Repeat(`{"a":1},`, maxValues) + `{}]}}`,
		"null", "true", "1", "1e400", `"x"`, "{}", "[]", "[[]]", "[null]", "[1]", `["x"]`, "[{}]", `[[{` + request +
			`}]]`, `[{` + request + `},[]]`, "[" + strings.Repeat("{"+request+"},", maxBatch) + "{" + request + "}]",
		`{"id":1,"method":"x"}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"2.0","error":{}}`, `{"jsonrpc":"2.0","params":{}}`, `{` + request + `,"result":{}}`,
		`{` + request + `,"result":null}`, `{` + request + `,"error":{}}`,
		`{"jsonrpc":"2.0","method":"x","result":{}}`,
		`{"jsonrpc":"2","id":1,"method":"x"}`, `{"jsonrpc":"2.0 ","id":1,"method":"x"}`,
		`{"jsonrpc":2.0,"id":1,"method":"x"}`, `{"jsonrpc":2,"id":1,"method":"x"}`,
		`{"jsonrpc":null,"id":1,"method":"x"}`, `{"jsonrpc":["2.0"],"id":1,"method":"x"}`,
		`{"Jsonrpc":"2.0","id":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"Method":"x"}`, `{"jsonrpc":"2.0","id":1,"METHOD":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method ":"x"}`, `{"jsonrpc":"2.0","id":1,"method":null}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1,"method":1}`,
		`{"jsonrpc":"2.0","id":1,"method":{}}`, `{"jsonrpc":"2.0","id":1,"method":["x"]}`,
		`{"jsonrpc":"2.0","id":1,"method":true}`,
		withID("null"), withID("1.5"), withID("1E400"), withID("-1e400"), withID("1e-1"), withID("9007199254740993.0"),
		withID("1e17"), withID("true"), withID("false"), withID("{}"), withID("[]"), withID("[1]"),
		withID(strings.Repeat("9", maxIDBytes+1)),
		withID(`"` + strings.Repeat("x", maxIDBytes-1) + `"`), withID(`"` + strings.Repeat("x", 2<<20) + `"`),
		`{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{` + request + `,"params":null}`, `{` + request + `,"params":[]}`, `{` + request + `,"params":["x"]}`,
		`{` + request + `,"params":1}`, `{` + request + `,"params":"x"}`, `{` + request + `,"params":false}`,
	},
}

func withID(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"x"}` }

func TestUnreadableMessagesAreRefused(t *testing.T) {
	t.Parallel()
	cases := 0
	for reason, bodies := range unreadable {
		for _, body := range bodies {
			cases++
			messages, _, err := ParseMessages([]byte(body))
			if err == nil || err.Reason != reason {
				t.Errorf("%.120q: %+v, %v, want %s", body, messages, err, reason)
				continue
			}
			// The text is for the client: nothing of it or of Go may be in it.
			for _, word := range []string{"json", "unmarshal", "offset", "panic", "runtime"} {
				if strings.Contains(err.Message, word+":") || strings.Contains(err.Message, "jsontext") {
					t.Errorf("%.120q: the message says %q", body, err.Message)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestRefusedMessagesHaveTheirID, without which a client on a connection waits for the reply.
func TestRefusedMessagesHaveTheirID(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}`: "9", `{"jsonrpc":"1.0","id":"a","method":"ping"}`: `"a"`,
		`{"jsonrpc":"2.0","id":9,"method":1}`: "9", `{"jsonrpc":"2.0","id":9}`: "9", `{"jsonrpc":"2.0","id":{},"method":"ping"}`: "",
		`[{"jsonrpc":"2.0","id":9}]`: "", `{"id":9`: "", `9`: "",
	} {
		messages, _, err := ParseMessages([]byte(body))
		if err == nil || string(IDOf(messages)) != want {
			t.Errorf("%s: id %s, %v", body, IDOf(messages), err)
		}
	}
}

// written is a message with nothing in it but what was read of it.
func written(t *testing.T, message Message) string {
	t.Helper()
	members := map[string]any{"jsonrpc": "2.0"}
	if message.ID != nil {
		members["id"] = message.ID
	}
	if message.Method != "" {
		members["method"] = message.Method
	}
	if message.Params.Raw != nil {
		members["params"] = message.Params.Raw
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever is accepted must mean the same when it is read again, by a reader that takes
// names in any case as well.
func FuzzMessageMeansTheSameToEveryReader(f *testing.F) {
	for body := range readable {
		f.Add([]byte(body))
	}
	for _, bodies := range unreadable {
		for _, body := range bodies {
			if len(body) < 4<<10 {
				f.Add([]byte(body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, batch, err := ParseMessages(body)
		if err != nil {
			if err.Reason != ReasonParse && err.Reason != ReasonRequest {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !json.Valid(body) || len(messages) == 0 || !batch && len(messages) != 1 {
			t.Fatalf("%q: accepted as %+v", body, messages)
		}
		for _, message := range messages {
			checkSameToAll(t, message)
		}
	})
}

func checkSameToAll(t *testing.T, message Message) {
	t.Helper()
	var loose struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	text := written(t, message)
	if err := json.Unmarshal([]byte(text), &loose); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if loose.JSONRPC != "2.0" || loose.Method != message.Method || string(loose.ID) != string(message.ID) ||
		!sameValue(loose.Params, message.Params.Raw) {
		t.Fatalf("%s is %+v to a loose reader and %+v to a strict one", text, loose, message)
	}
	if !message.IsReply() { // of which nothing is read but the id
		again, _, err := ParseMessages([]byte(text))
		if err != nil || len(again) != 1 || written(t, again[0]) != text {
			t.Fatalf("%s is read again as %+v, %v", text, again, err)
		}
	}
	if message.IsRequest() && message.IsReply() || len(message.ID) > 6*maxIDBytes {
		t.Fatalf("%s: %+v", text, message)
	}
}

func sameValue(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y any
	errA, errB := json.Unmarshal(a, &x), json.Unmarshal(b, &y)
	// A number that no float holds is an error to both.
	return fmt.Sprint(x, errA != nil) == fmt.Sprint(y, errB != nil)
}
