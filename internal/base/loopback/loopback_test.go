package loopback_test

import (
	"net/url"
	"testing"

	"github.com/repomcp/repomcp/internal/base/loopback"
)

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.8.7": true, "::1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "localhost.example": false, "127.0.0.1.example": false,
		"[::1]": false, "127.1": false, "localhost:80": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}

func TestPrivate(t *testing.T) {
	for address, want := range map[string]bool{
		"https://git.example": true, "http://localhost:8080/": true, "http://[::1]:80": true, "http://git.example": false,
		"ftp://localhost": false, "localhost": false,
	} {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := loopback.Private(at); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
