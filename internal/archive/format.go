package archive

import "strings"

// EncoderVersion names the bytes of tar that this package writes for the same
// input, as gzip.EncoderVersion names those around it. Both are part of ETags:
// whoever changes the bytes must change them.
const EncoderVersion = "1"

// Format is the kind of an archive: its file name's suffix.
type Format string

// The formats that can be written.
const (
	Tar   Format = "tar"
	TarGz Format = "tar.gz"
)

// formats lists what users may write after the last dot of an archive's name,
// longer suffixes first.
var formats = []struct {
	suffix string
	format Format
}{
	{".tar.gz", TarGz},
	{".tgz", TarGz},
	{".tar", Tar},
}

// mediaTypes as registered (tar.gz is what gzip is called: RFC 6713).
var mediaTypes = map[Format]string{
	Tar:   "application/x-tar",
	TarGz: "application/gzip",
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
