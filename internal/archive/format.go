package archive

import (
	"maps"
	"slices"
	"strings"
)

// EncoderVersion names the bytes of tar that this package writes for the same
// input, as gzip.EncoderVersion names those around it. Both are part of ETags:
// whoever changes the bytes must change them.
const EncoderVersion = "3"

// Format is the kind of an archive: its file name's suffix.
type Format string

// The formats that can be written.
const (
	Tar    Format = "tar"
	TarGz  Format = "tar.gz"
	TarZst Format = "tar.zst"
	TarXz  Format = "tar.xz"
	Zip    Format = "zip"
	// Manifest is the list of what the other formats hold, as JSON.
	Manifest Format = "manifest.json"
)

// formats lists what users may write after the last dot of an archive's name,
// longer suffixes first.
var formats = []struct {
	suffix string
	format Format
}{
	{".tar.gz", TarGz},
	{".tgz", TarGz},
	{".tar.zst", TarZst},
	{".tar.xz", TarXz},
	{".zip", Zip},
	{".tar", Tar},
	{".manifest.json", Manifest},
}

// mediaTypes as registered, gzip by RFC 6713 and zstd by RFC 8878; tar and xz
// never were.
var mediaTypes = map[Format]string{
	Tar:      "application/x-tar",
	TarGz:    "application/gzip",
	TarZst:   "application/zstd",
	TarXz:    "application/x-xz",
	Zip:      "application/zip",
	Manifest: "application/json",
}

// Formats lists what can be written.
func Formats() []Format { return slices.Sorted(maps.Keys(mediaTypes)) }

// FormatNames lists the same for people, in the same order.
func FormatNames() []string {
	var names []string
	for _, format := range Formats() {
		names = append(names, string(format))
	}
	return names
}

// MediaType is the Content-Type of the format.
func (f Format) MediaType() string { return mediaTypes[f] }

// ParseFormat reads a format by its name or alias, such as "tgz".
func ParseFormat(name string) (Format, bool) {
	stem, format, ok := SplitName("x." + name)
	return format, ok && stem == "x"
}

// SplitName divides "v1.0.tar.gz" into "v1.0" and its format.
func SplitName(name string) (stem string, format Format, ok bool) {
	for _, f := range formats {
		if stem, ok := strings.CutSuffix(name, f.suffix); ok && stem != "" {
			return stem, f.format, true
		}
	}
	return "", "", false
}
