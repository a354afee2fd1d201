package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// units of sizes: decimal (SI) and binary (IEC 80000-13), in order of preference: larger before
// smaller, and binary before decimal.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1},
}

// Size is a flag for a number of bytes, with an optional unit.
type Size struct{ bytes *int64 }

var _ pflag.Value = Size{}

// NewSize returns a flag value with a default.
func NewSize(bytes *int64, preset int64) Size {
	*bytes = preset
	return Size{bytes}
}

// Set implements [pflag.Value].
func (s Size) Set(text string) error {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.TrimSpace(text[len(digits):])
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a size such as 4194304, 4MB or 4MiB", text)
	}
	for _, u := range units {
		if !strings.EqualFold(u.name, unit) {
			continue
		}
		if n < 0 {
			return errors.New("it is negative")
		}
		if n > math.MaxInt64/u.bytes {
			return fmt.Errorf("it is more than %d bytes", int64(math.MaxInt64))
		}
		*s.bytes = n * u.bytes
		return nil
	}
	return fmt.Errorf("%q is not a unit of sizes: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", unit)
}

// String implements [pflag.Value]: the largest unit without a fraction.
func (s Size) String() string {
	if s.bytes == nil || *s.bytes == 0 {
		return "0"
	}
	for _, u := range units {
		if *s.bytes%u.bytes == 0 {
			return strconv.FormatInt(*s.bytes/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(*s.bytes, 10)
}

// Type implements [pflag.Value].
func (s Size) Type() string { return "size" }
