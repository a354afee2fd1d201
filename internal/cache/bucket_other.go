//go:build !cloud

package cache

import (
	"context"
	"fmt"
	"net/url"
)

func openCloud(_ context.Context, u *url.URL) (Bucket, error) {
	return nil, fmt.Errorf("%q is not s3://BUCKET, which is what this build has; azblob://, gs:// and file:// are in "+
		"builds with `-tags cloud`", u.Redacted())
}
