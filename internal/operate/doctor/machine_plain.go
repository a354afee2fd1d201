//go:build !unix

package doctor

import "errors"

func descriptorLimit() int64 { return 0 }

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
