package cli

import (
	"math"
	"testing"
)

func TestSizesTakeUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4194304": 4 << 20, "4MB": 4_000_000, "4MiB": 4 << 20, "4 mib": 4 << 20, "1GiB": 1 << 30, "1gb": 1e9,
		"7B": 7, "3kB": 3000, "3KB": 3000, "2TiB": 2 << 40,
		"9223372036854775807": math.MaxInt64,
	} {
		var got int64
		if err := NewSize(&got, 1).Set(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MB", "-1", "-4MB", "4XB", "4.5MB", "1e9", "4M", "9223372036854775807kB",
		"99999999999999999999"} {
		got := int64(7)
		if err := NewSize(&got, 7).Set(text); err == nil || got != 7 {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
	for bytes, want := range map[int64]string{0: "0", 4 << 20: "4MiB", 1e9: "1GB", 1 << 40: "1TiB", 256 << 30: "256GiB",
		1001: "1001B"} {
		if got := NewSize(&bytes, bytes).String(); got != want {
			t.Errorf("%d is shown as %s, want %s", bytes, got, want)
		}
	}
}
