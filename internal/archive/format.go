package archive

import (
	"maps"
	"slices"
	"strings"
)

// EncoderVersion identifies the bytes of tar that this package writes for the same input, as
// gzip.EncoderVersion identifies the bytes around it. Both are part of ETags: a change of the bytes
// requires a new version.
const EncoderVersion = "3"

// Format is the format of an archive: its file name's suffix.
type Format string

// The supported formats.
const (
	Tar    Format = "tar"
	TarGz  Format = "tar.gz"
	TarZst Format = "tar.zst"
	TarXz  Format = "tar.xz"
	Zip    Format = "zip"
	// Manifest lists the members of the other formats as JSON.
	Manifest Format = "manifest.json"
)

// formats lists the accepted suffixes of an archive's name, longer ones first.
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

// mediaTypes are registered, gzip by RFC 6713 and zstd by RFC 8878, except those of tar and xz.
var mediaTypes = map[Format]string{
	Tar:      "application/x-tar",
	TarGz:    "application/gzip",
	TarZst:   "application/zstd",
	TarXz:    "application/x-xz",
	Zip:      "application/zip",
	Manifest: "application/json",
}

// Formats lists the supported formats.
func Formats() []Format { return slices.Sorted(maps.Keys(mediaTypes)) }

// FormatNames lists them for people, in the same order.
func FormatNames() []string {
	var names []string
	for _, format := range Formats() {
		names = append(names, string(format))
	}
	return names
}

// MediaType returns the Content-Type of the format.
func (f Format) MediaType() string { return mediaTypes[f] }

// ParseFormat parses a format's name or alias, such as "tgz".
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
