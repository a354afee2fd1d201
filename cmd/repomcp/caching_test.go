package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A name is whatever a branch is called: it must not get out of the header.
func TestDownloadsOfTheBucketHaveNames(t *testing.T) {
	for name, want := range map[string]string{
		"hello-main.tar.gz": "attachment; filename=hello-main.tar.gz", `a" b\.tar`: `attachment; filename="a\" b\\.tar"`,
		"ü.tar": "attachment; filename*=utf-8''%C3%BC.tar", "a\r\nSet-Cookie: x.tar": "attachment; filename*=utf-8''a%0D%0ASet-Cookie%3A%20x.tar",
	} {
		var request s3.GetObjectInput
		err := nameDownload(name)(func(as any) bool {
			to, ok := as.(**s3.GetObjectInput)
			if ok {
				*to = &request
			}
			return ok
		})
		if err != nil || request.ResponseContentDisposition == nil || *request.ResponseContentDisposition != want {
			t.Errorf("%q: %v, %v", name, request.ResponseContentDisposition, err)
		}
	}
	if err := nameDownload("x")(func(any) bool { return false }); err != nil {
		t.Errorf("another driver: %v", err)
	}
}
