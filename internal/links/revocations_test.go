package links

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/operatorfile"
	"github.com/repomcp/repomcp/internal/operatorfile/filetest"
)

func TestDenied(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"group/secret", "group/secret", true},
		{"group/secret", "group/secrets", false},
		{"group/secret", "group", false},
		{"group/secret", "x/group/secret", false},
		{"group", "group", true},
		{"group", "group/secret", true},
		{"group", "group/a/b/c", true},
		{"group", "groups/a", false},
		{"*", "anything", true},
		{"*", "any/thing", true},
		{"group/*", "group", false},
		{"group/*", "group/a", true},
		{"group/*", "group/a/b", true},
		{"group/*", "group/.hidden", true},
		{"*/private", "customer/private", true},
		{"*/private", "customer/private/sub", true},
		{"*/private", "customer/public", false},
		{"a/*/c", "a/b/c", true},
		{"a/*/c", "a/b/d", false},
		{"a/*/c", "a/b/b/c", false},
		{"secret-?", "secret-1", true},
		{"secret-?", "secret-12", false},
		{"[a-c]x", "bx", true},
		{"[a/b]c", "ac", true},
		{"[^a]x", "ax", false},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{"Group", "group", false},
	} {
		lists, err := parseRevocations([]byte("deny " + test.pattern))
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		r := &Revocations{operatorfile.Fixed(lists)}
		if got := r.Denied(test.name); got != test.want {
			t.Errorf("deny %s: %s is %v", test.pattern, test.name, got)
		}
	}
}

func TestRevocationFile(t *testing.T) {
	lists, err := parseRevocations([]byte("# now\r\n\n deny\ta/b \r\nepoch  3\t alice  of wonderland \nepoch 0 bob"))
	if err != nil {
		t.Fatal(err)
	}
	if len(lists.denied) != 1 || lists.denied[0] != "a/b" || lists.epochs["alice  of wonderland"] != 3 ||
		len(lists.epochs) != 2 {
		t.Errorf("%+v", lists)
	}
	for _, text := range []string{
		"deny", "deny ", "allow a", "a", "DENY a", "deny [", "deny a[b", "deny a/[", `deny a\`, "deny /a", "deny a/",
		"deny a//b",
		"epoch", "epoch 3", "epoch alice 3", "epoch -1 alice", "epoch 18446744073709551616 alice", "epoch 1.5 alice",
		"epoch 1 alice\nepoch 2 alice", strings.Repeat("deny a\n", maxDenied+1),
	} {
		if _, err := parseRevocations([]byte(text)); err == nil {
			t.Errorf("%.40q is taken", text)
		}
	}
	if _, err := LoadRevocations("/nonexistent/file"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	path := file(t, "deny a")
	r, err := openRevocations(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := filetest.Settle(t, r); changed || err != nil {
		t.Error(changed, err)
	}
	write(t, path, "deny a", "deny b")
	if changed, err := filetest.Settle(t, r); !changed || err != nil || !r.Denied("b/c") {
		t.Error(changed, err)
	}
	nothing := &Revocations{}
	if changed, err := filetest.Settle(t, nothing); changed || err != nil || nothing.Denied("a") ||
		nothing.Epoch("a") != 0 {
		t.Error("the zero value revokes something")
	}
}
