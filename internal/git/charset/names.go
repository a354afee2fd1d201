package charset

import (
	"strings"
	"sync"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

var (
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	utf32LE = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	utf32BE = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	// With a byte order mark.
	markedUTF16LE = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	markedUTF16BE = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	markedUTF32LE = utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
)

// unicodeCharsets are the Unicode encodings, by their names without the hyphen after "utf". The
// byte order of ambiguous names is that of iconv on nearly every machine: UTF and UNICODE are
// little-endian with a byte order mark, UCS-2 little-endian without one, and UCS-4 big-endian. The
// names that end in "-bom" are git's own: gitattributes(5).
var unicodeCharsets = map[string]Charset{
	"utf16":       {encoding: markedUTF16LE},
	"csutf16":     {encoding: markedUTF16LE},
	"utf16le":     {encoding: utf16LE},
	"utf16be":     {encoding: utf16BE},
	"utf16le-bom": {encoding: markedUTF16LE},
	"utf16be-bom": {encoding: markedUTF16BE},

	"utf32":   {encoding: markedUTF32LE},
	"utf32le": {encoding: utf32LE},
	"utf32be": {encoding: utf32BE},

	"unicode":        {encoding: markedUTF16LE, variant: basic},
	"csunicode":      {encoding: markedUTF16LE, variant: basic},
	"unicodelittle":  {encoding: utf16LE, variant: basic},
	"unicodebig":     {encoding: utf16BE, variant: basic},
	"ucs2":           {encoding: utf16LE, variant: basic},
	"ucs-2":          {encoding: utf16LE, variant: basic},
	"ucs-2le":        {encoding: utf16LE, variant: basic},
	"ucs-2be":        {encoding: utf16BE, variant: basic},
	"iso-10646/ucs2": {encoding: utf16LE, variant: basic},

	"ucs4":           {encoding: utf32BE},
	"csucs4":         {encoding: utf32BE},
	"ucs-4":          {encoding: utf32BE},
	"ucs-4be":        {encoding: utf32BE},
	"ucs-4le":        {encoding: utf32LE},
	"iso-10646":      {encoding: utf32BE},
	"iso-10646/ucs4": {encoding: utf32BE},
	"wchar_t":        {encoding: utf32LE},
	"internal":       {encoding: utf32LE},
}

// hyphenless normalizes git's names of a Unicode encoding.
func hyphenless(name string) string {
	if rest, ok := strings.CutPrefix(name, "utf-"); ok {
		return "utf" + rest
	}
	return name
}

// variants are the charsets that differ from the library's encoding.
var variants = map[string]variant{
	"euc-kr": pairs, "gb2312": pairs, "shift_jis": jis, "euc-jp": jis, "iso-2022-jp": jis,
}

// signsOfJIS maps characters of JIS X 0208 to their counterparts in Windows, which the library
// uses. iconv encodes both alike in each encoding of Japanese, and decodes to those of JIS except
// in that of Windows.
var signsOfJIS = map[rune]rune{
	'\u00a2': '\uffe0', '\u00a3': '\uffe1', '\u00ac': '\uffe2', // cent, pound, not
	'\u2016': '\u2225', '\u2212': '\uff0d', '\u301c': '\uff5e', // double line, minus, wave dash
}

// iconvNames are the names of glibc's iconv that IANA and the Encoding standard lack or assign to
// another encoding. Each line starts with the library's name of the encoding.
var iconvNames = []string{
	"us-ascii ascii ansi_x3.4",
	"iso-8859-1 iso8859-1 iso88591 8859_1 latin-1",
	"iso-8859-2 8859_2 cp912 ibm912",
	"iso-8859-3 8859_3",
	"iso-8859-4 8859_4",
	"iso-8859-5 8859_5 cp915 ibm915",
	"iso-8859-6 8859_6 cp1089 ibm1089",
	"iso-8859-7 8859_7 cp813 ibm813 iso_8859-7:2003",
	"iso-8859-8 8859_8 cp916 ibm916",
	"iso-8859-9 iso8859-9 iso88599 8859_9 cp920 ibm920 ts-5881 ecma-128",
	"iso-8859-10 iso_8859-10",
	"iso-8859-13 iso-ir-179 latin7 l7 baltic",
	"iso-8859-15 iso-ir-203 iso_8859-15:1998 latin9",
	"iso-8859-16 iso8859-16 iso885916",
	"koi8-r koi8r",
	"koi8-u koi8u",
	"x-mac-cyrillic cp10007 ms-mac-cyrillic msmaccyrillic mac-uk macuk macukrainian mac-cyrillic maccyrillic",
	"windows-1250 ms-ee",
	"windows-1251 ms-cyrl",
	"windows-1252 ms-ansi",
	"windows-1253 ms-greek",
	"windows-1254 ms-turk",
	"windows-1255 ms-hebr",
	"windows-1256 ms-arab",
	"windows-1257 winbaltrim",
	"windows-874 874 cp874 ibm874 tis620 tis620-0 tis620.2529-1 tis620.2533-0 iso-ir-166",
	"ibm037 cp1070 cp282",
	"ibm00858 858 cp858 ibm858 cspc858multilingual",
	"ibm1047 1047 cp1047",
	"ibm01140 cp1140 ibm-1140 ibm1140 csibm1140",
	"shift_jis shift-jis sjis ms_kanji csshiftjis x-sjis",
	"windows-31j cp932 cswindows31j sjis-open sjis-win",
	"euc-jp eucjp cseucpkdfmtjapanese ujis x-euc-jp",
	"iso-2022-jp csiso2022jp",
	"euc-kr euckr cseuckr",
	"windows-949 cp949 uhc mscp949",
	"gbk gb13000",
	"gb2312 euc-cn euccn cn-gb csgb2312",
	"big5 big-5 big-five bigfive cp950",
}

// aliases maps names of iconv to those of the library.
var aliases = sync.OnceValue(func() map[string]string {
	known := make(map[string]string)
	for _, line := range iconvNames {
		names := strings.Fields(line)
		for _, name := range names[1:] {
			known[name] = names[0]
		}
	}
	return known
})

// signsFromWindows replaces the characters of Windows by those of JIS.
var signsFromWindows = sync.OnceValue(func() *strings.Replacer {
	var replaced []string
	for jis, windows := range signsOfJIS {
		replaced = append(replaced, string(windows), string(jis))
	}
	return strings.NewReplacer(replaced...)
})
