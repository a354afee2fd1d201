//go:build !cloud

package cache

import (
	"strings"
	"testing"
)

func cloudBuckets() map[string]func(t *testing.T) Bucket {
	return map[string]func(t *testing.T) Bucket{}
}

func cloudNames(t *testing.T, b Bucket) []string {
	t.Helper()
	t.Fatalf("%T cannot be listed", b)
	return nil
}

// The error for a bucket of another build names the build that has it.
func TestOtherBucketsAreInAnotherBuild(t *testing.T) {
	for _, address := range []string{"gs://archives", "azblob://archives?domain=x", "file:///srv", "archives", ""} {
		if _, err := OpenBucket(t.Context(), address); err == nil || !strings.Contains(err.Error(), "-tags cloud") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
