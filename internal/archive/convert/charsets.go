package convert

import (
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// gitCharsets are names that git itself knows. They are compared as git
// compares them (reencode_string_len in utf8.c).
var gitCharsets = []*charset{
	{names: "UTF-16LE-BOM", encoding: utf16LE, unicode: true, bom: "\xff\xfe"},
	{names: "UTF-16BE-BOM", encoding: utf16BE, unicode: true, bom: "\xfe\xff"},
}

var charsetsByName = byName(charsets)

var (
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	utf32LE = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	utf32BE = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
)

// charsets are the encodings of glibc that golang.org/x/text has.
var charsets = []*charset{
	{names: "ANSI_X3.4-1968 ANSI_X3.4 ANSI_X3.4-1986 ISO-IR-6 ISO_646.IRV:1991 ASCII ISO646-US US-ASCII US IBM367 CP367 CSASCII", encoding: charmap.ISO8859_1, ascii: true, only: isASCII},
	// In the order of the machine, with a BOM.
	{names: "UTF-16 UTF16", encoding: utf16LE, unicode: true, bom: "\xff\xfe"},
	{names: "UTF-32 UTF32", encoding: utf32LE, unicode: true, bom: "\xff\xfe\x00\x00"},
	{names: "UTF-16LE UTF16LE", encoding: utf16LE, unicode: true},
	{names: "UTF-16BE UTF16BE", encoding: utf16BE, unicode: true},
	{names: "UTF-32LE UTF32LE UCS-4LE", encoding: utf32LE, unicode: true},
	{names: "UTF-32BE UTF32BE ISO-10646/UCS4 UCS4 UCS-4 UCS-4BE CSUCS4 ISO-10646", encoding: utf32BE, unicode: true},
	{names: "UNICODE CSUNICODE", encoding: utf16LE, bom: "\xff\xfe", only: isUCS2},
	{names: "UCS-2 UCS2 ISO-10646/UCS2 UCS-2LE UNICODELITTLE", encoding: utf16LE, only: isUCS2},
	{names: "UCS-2BE UNICODEBIG", encoding: utf16BE, only: isUCS2},
	{names: "ISO-8859-1 ISO-IR-100 ISO_8859-1:1987 ISO_8859-1 ISO8859-1 ISO88591 LATIN1 L1 IBM819 CP819 CSISOLATIN1 8859_1", encoding: charmap.ISO8859_1, ascii: true},
	{names: "ISO-8859-2 ISO-IR-101 ISO_8859-2:1987 ISO_8859-2 ISO8859-2 ISO88592 LATIN2 L2 CSISOLATIN2 8859_2 IBM912 CP912", encoding: charmap.ISO8859_2, ascii: true, c1: true},
	{names: "ISO-8859-3 ISO-IR-109 ISO_8859-3:1988 ISO_8859-3 ISO8859-3 ISO88593 LATIN3 L3 CSISOLATIN3 8859_3", encoding: charmap.ISO8859_3, ascii: true, c1: true},
	{names: "ISO-8859-4 ISO-IR-110 ISO_8859-4:1988 ISO_8859-4 ISO8859-4 ISO88594 LATIN4 L4 CSISOLATIN4 8859_4", encoding: charmap.ISO8859_4, ascii: true, c1: true},
	{names: "ISO-8859-5 ISO-IR-144 ISO_8859-5:1988 ISO_8859-5 ISO8859-5 ISO88595 CYRILLIC CSISOLATINCYRILLIC 8859_5 IBM915 CP915", encoding: charmap.ISO8859_5, ascii: true, c1: true},
	{names: "ISO-8859-6 ISO-IR-127 ISO_8859-6:1987 ISO_8859-6 ISO8859-6 ISO88596 ECMA-114 ASMO-708 ARABIC CSISOLATINARABIC 8859_6 IBM1089 CP1089", encoding: charmap.ISO8859_6, ascii: true, c1: true},
	{names: "ISO-8859-7 ISO-IR-126 ISO_8859-7:2003 ISO_8859-7:1987 ISO_8859-7 ISO8859-7 ISO88597 ELOT_928 ECMA-118 GREEK GREEK8 CSISOLATINGREEK 8859_7 IBM813 CP813", encoding: charmap.ISO8859_7, ascii: true, c1: true},
	{names: "ISO-8859-8 ISO-IR-138 ISO_8859-8:1988 ISO_8859-8 ISO8859-8 ISO88598 HEBREW CSISOLATINHEBREW 8859_8 IBM916 CP916", encoding: charmap.ISO8859_8, ascii: true, c1: true},
	{names: "ISO-8859-9 ISO-IR-148 ISO_8859-9:1989 ISO_8859-9 ISO8859-9 ISO88599 LATIN5 L5 CSISOLATIN5 8859_9 IBM920 CP920 TS-5881 ECMA-128", encoding: charmap.ISO8859_9, ascii: true},
	{names: "ISO-8859-10 ISO-IR-157 ISO_8859-10:1992 ISO_8859-10 ISO8859-10 ISO885910 LATIN6 L6 CSISOLATIN6", encoding: charmap.ISO8859_10, ascii: true, c1: true},
	{names: "ISO-8859-13 ISO8859-13 ISO885913 ISO-IR-179 LATIN7 L7 BALTIC", encoding: charmap.ISO8859_13, ascii: true, c1: true},
	{names: "ISO-8859-14 ISO8859-14 ISO885914 ISO-IR-199 LATIN8 L8 ISO_8859-14:1998 ISO_8859-14 ISO-CELTIC", encoding: charmap.ISO8859_14, ascii: true, c1: true},
	{names: "ISO-8859-15 ISO8859-15 ISO885915 ISO-IR-203 ISO_8859-15 LATIN-9 LATIN9 ISO_8859-15:1998", encoding: charmap.ISO8859_15, ascii: true, c1: true},
	{names: "ISO-8859-16 ISO8859-16 ISO885916 ISO-IR-226 LATIN10 L10 ISO_8859-16:2001 ISO_8859-16", encoding: charmap.ISO8859_16, ascii: true, c1: true},
	{names: "KOI8-R CSKOI8R KOI8R", encoding: charmap.KOI8R, ascii: true},
	{names: "KOI8-U KOI8U", encoding: charmap.KOI8U, ascii: true, differs: differences(chars(koi8U))},
	{names: "MACINTOSH MAC CSMACINTOSH", encoding: charmap.Macintosh, ascii: true, differs: differences(chars(macintosh))},
	{names: "CP10007 MS-MAC-CYRILLIC MSMACCYRILLIC", encoding: charmap.MacintoshCyrillic, ascii: true, differs: differences(chars(cp10007))},
	{names: "MAC-UK MACUK MACUKRAINIAN MAC-CYRILLIC MACCYRILLIC", encoding: charmap.MacintoshCyrillic, ascii: true, differs: differences(chars(macUK))},
	{names: "CP1250 MS-EE WINDOWS-1250", encoding: charmap.Windows1250, ascii: true},
	{names: "CP1251 MS-CYRL WINDOWS-1251", encoding: charmap.Windows1251, ascii: true},
	{names: "CP1252 MS-ANSI WINDOWS-1252", encoding: charmap.Windows1252, ascii: true},
	{names: "CP1253 MS-GREEK WINDOWS-1253", encoding: charmap.Windows1253, ascii: true},
	{names: "CP1254 MS-TURK WINDOWS-1254", encoding: charmap.Windows1254, ascii: true},
	{names: "CP1255 MS-HEBR WINDOWS-1255", encoding: charmap.Windows1255, ascii: true, differs: differences(chars(cp1255))},
	{names: "CP1256 MS-ARAB WINDOWS-1256", encoding: charmap.Windows1256, ascii: true},
	{names: "CP1257 WINBALTRIM WINDOWS-1257", encoding: charmap.Windows1257, ascii: true},
	{names: "CP1258 WINDOWS-1258", encoding: charmap.Windows1258, ascii: true, differs: differences(chars(cp1258))},
	{names: "IBM874 874 CP874 WINDOWS-874", encoding: charmap.Windows874, ascii: true},
	{names: "TIS-620 TIS620 TIS620-0 TIS620.2529-1 TIS620.2533-0 ISO-IR-166", encoding: charmap.Windows874, ascii: true, differs: differences(chars(tis620))},
	{names: "ISO-8859-11 ISO8859-11 ISO885911", encoding: charmap.Windows874, ascii: true, c1: true, differs: differences(chars(iso885911))},
	{names: "IBM037 CP037 EBCDIC-CP-US EBCDIC-CP-CA EBCDIC-CP-WT EBCDIC-CP-NL CSIBM037 CP1070 CP282", encoding: charmap.CodePage037},
	{names: "IBM437 CP437 437 CSPC8CODEPAGE437", encoding: charmap.CodePage437, ascii: true},
	{names: "IBM850 CP850 850 CSPC850MULTILINGUAL", encoding: charmap.CodePage850, ascii: true},
	{names: "IBM852 CP852 852 CSPCP852", encoding: charmap.CodePage852, ascii: true},
	{names: "IBM855 CP855 855 CSIBM855", encoding: charmap.CodePage855, ascii: true},
	{names: "IBM858 CP858 858 CSPC858MULTILINGUAL", encoding: charmap.CodePage858, ascii: true},
	{names: "IBM860 CP860 860 CSIBM860", encoding: charmap.CodePage860, ascii: true},
	{names: "IBM862 CP862 862 CSPC862LATINHEBREW", encoding: charmap.CodePage862, ascii: true},
	{names: "IBM863 CP863 863 CSIBM863", encoding: charmap.CodePage863, ascii: true},
	{names: "IBM865 CP865 865 CSIBM865", encoding: charmap.CodePage865, ascii: true},
	{names: "IBM866 CP866 866 CSIBM866", encoding: charmap.CodePage866, ascii: true},
	{names: "IBM1047 IBM-1047 CP1047 1047", encoding: charmap.CodePage1047},
	{names: "IBM1140 IBM-1140 CP1140 CSIBM1140", encoding: charmap.CodePage1140, differs: differences(chars(ibm1140))},
	{names: "EUC-JP EUCJP CSEUCPKDFMTJAPANESE UJIS", encoding: japanese.EUCJP, ascii: true, c1: true, differs: eucJP, only: isJISX0208InEUC},
	{names: "SJIS SHIFT-JIS SHIFT_JIS MS_KANJI CSSHIFTJIS", encoding: japanese.ShiftJIS, ascii: true, differs: differences(chars(sjis)), only: isJISX0208InSJIS},
	{names: "CP932 WINDOWS-31J MS932 SJIS-OPEN SJIS-WIN CSWINDOWS31J", encoding: japanese.ShiftJIS, ascii: true, differs: cp932},
	{names: "EUC-KR EUCKR CSEUCKR", encoding: korean.EUCKR, ascii: true, c1: true, differs: differences(chars(eucKR)), only: isKSX1001},
	{names: "UHC MSCP949 CP949", encoding: korean.EUCKR, ascii: true},
	{names: "EUC-CN EUCCN GB2312 CSGB2312 CN-GB", encoding: simplifiedchinese.GBK, ascii: true, differs: differences(chars(eucCN)), only: isGB2312},
	{names: "GBK GB13000 CP936 MS936 WINDOWS-936", encoding: simplifiedchinese.GBK, ascii: true, only: isGBK},
	{names: "GB18030", encoding: simplifiedchinese.GB18030, ascii: true, differs: gb18030},
	{names: "BIG5 BIG-FIVE BIGFIVE BIG-5 CN-BIG5 CP950", encoding: traditionalchinese.Big5, ascii: true, differs: big5, only: isBig5},
}

func isASCII(encoded []byte) bool { return encoded[0] < 0x80 }

func isUCS2(encoded []byte) bool { return len(encoded) == 2 }

var (
	cp932 = differences(
		area(0xe000, plane{first: 0xf0, last: 0xf9, trails: trailsSJIS}),
		preferred(japanese.ShiftJIS,
			plane{first: 0xfa, last: 0xfa, trails: [][2]byte{{0x40, 0x49}, {0x55, 0x57}, {0x5c, 0x7e}, {0x80, 0xfc}}},
			plane{first: 0xfb, last: 0xfc, trails: trailsSJIS}),
		chars(cp932Chars),
	)
	eucJP = differences(
		preferred(japanese.EUCJP, plane{prefix: "\x8f", first: 0xa1, last: 0xfe, trails: trails94}),
		chars(eucJPChars),
	)
	gb18030 = differences(
		area(0xe000, plane{first: 0xaa, last: 0xaf, trails: trails94}),
		area(0xe234, plane{first: 0xf8, last: 0xfe, trails: trails94}),
		area(0xe4c6, plane{first: 0xa1, last: 0xa7, trails: trails96}),
		chars(gb18030Chars),
	)
	big5 = differences(
		area(0xf6b1, plane{first: 0xc6, last: 0xc6, trails: trails94}),
		area(0xf70f, plane{first: 0xc7, last: 0xc8, trails: trailsBig5}),
		chars(big5Chars),
	)
)

// golang.org/x/text has the rows that vendors have added to these sets, as
// browsers need them. glibc has not.

func isJISX0208InSJIS(b []byte) bool {
	return len(b) == 1 || b[0] != 0x87 && b[0] <= 0xea
}

func isJISX0208InEUC(b []byte) bool {
	return len(b) != 2 || b[0] != 0xad && b[0] <= 0xf4
}

func isKSX1001(b []byte) bool {
	return len(b) == 1 || b[0] >= 0xa1 && b[1] >= 0xa1
}

func isGB2312(b []byte) bool {
	return len(b) == 1 && b[0] < 0x80 || len(b) == 2 && b[0] >= 0xa1 && b[1] >= 0xa1 && b[0] <= 0xf7
}

func isGBK(b []byte) bool {
	if len(b) == 1 {
		return true
	}
	code := int(b[0])<<8 | int(b[1])
	return code < 0xfe50 && code != 0xa8bf && (code < 0xa989 || code > 0xa995)
}

// isBig5 leaves out what Hong Kong has added.
func isBig5(b []byte) bool {
	if len(b) == 1 {
		return true
	}
	code := int(b[0])<<8 | int(b[1])
	return 0xa140 <= code && code <= 0xf9fe && (code < 0xa3c0 || code > 0xa3e0) && (code < 0xc6a1 || code > 0xc8fe)
}
