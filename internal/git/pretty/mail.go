package pretty

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/charset"
	"github.com/repomcp/repomcp/internal/git/message"
)

const (
	// maxHeaderColumns is the length at which a line of a header is folded if it can be, and
	// maxEncodedColumns that of a line with encoded words (RFC 2047, section 2).
	maxHeaderColumns  = 78
	maxEncodedColumns = 76

	beginEncoded = "=?" + charset.UTF8 + "?q?"
	endEncoded   = "?="
)

// mimeHeader says that the body has other bytes than ASCII.
const mimeHeader = "MIME-Version: 1.0\nContent-Type: text/plain; charset=" + charset.UTF8 +
	"\nContent-Transfer-Encoding: 8bit\n"

// Mail appends the commit as the mail that git format-patch makes of it, up to the line before the
// changes: the first line of mailbox formats, the header, and the message (git-format-patch(1),
// "DISCUSSION"). It is number of total mails; the subject of the only one has no number. No mailmap
// applies to its author.
//
// At a date before 1970, where git fails, the mail has 1970.
func (t *Text) Mail(number, total int) {
	c, err := t.commit()
	if err != nil {
		t.fail(err)
		return
	}
	t.spend(len(c.Message))
	t.out.add("From " + t.id.String() + " Mon Sep 17 00:00:00 2001\n")
	t.addAuthor(c.Author)
	t.addSubject(c.subject, number, total)
	if !isASCII(c.Message) {
		t.out.add(mimeHeader)
	}
	t.out.add("\n")
	body := len(t.out.bytes)
	for line := range strings.Lines(c.body) {
		t.out.add(strings.TrimRight(line, message.Blanks) + "\n")
	}
	t.out.trimEnd(message.Blanks)
	t.out.add("\n")
	if len(t.out.bytes) <= body { // without a body the empty line was cut off
		t.out.add("\n")
	}
	t.out.add("---\n")
}

// addAuthor appends the headers From and Date. A commit without a readable author has neither.
func (t *Text) addAuthor(line string) {
	author, ok := git.ParsePerson(line)
	if !ok {
		return
	}
	most := maxHeaderColumns
	t.out.add("From: ")
	switch {
	case needsEncoding(author.Name):
		t.addEncoded(author.Name, plainInAddress)
		most = maxEncodedColumns
	case strings.ContainsAny(author.Name, specials):
		quote := strings.NewReplacer(`"`, `\"`, `\`, `\\`)
		t.fold(`"` + quote.Replace(author.Name) + `"`)
	default:
		t.fold(author.Name)
	}
	if t.column()+len(" <"+author.Email+">") > most {
		t.out.add("\n")
	}
	date, err := inCommitZone(mailDate)(&expansion{Text: t}, author)
	if err != nil {
		date, _ = inCommitZone(mailDate)(&expansion{Text: t}, git.Person{})
	}
	t.out.add(" <" + author.Email + ">\nDate: " + date + "\n")
}

func (t *Text) addSubject(subject string, number, total int) {
	t.out.add("Subject: [PATCH")
	if total > 1 {
		t.out.add(fmt.Sprintf(" %0*d/%d", len(fmt.Sprint(total)), number, total))
	}
	t.out.add("] ")
	if needsEncoding(subject) {
		t.addEncoded(subject, plainInSubject)
	} else {
		t.fold(subject)
	}
	t.out.add("\n")
}

// column returns the length of the last line.
func (t *Text) column() int { return len(t.out.bytes) - 1 - bytes.LastIndexByte(t.out.bytes, '\n') }

// fold appends a part of a header, in lines that are not too long if its blanks allow that.
func (t *Text) fold(text string) {
	w := wrapping{width: maxHeaderColumns, nextIndent: 1, column: t.column()}
	w.wrap(t.out, text)
}

// addEncoded appends an encoded word (RFC 2047), or several in lines of their own. A character is
// never divided.
func (t *Text) addEncoded(text string, plain func(c byte) bool) {
	t.out.add(beginEncoded)
	column := t.column()
	for text != "" {
		length := 1
		if char, size := utf8.DecodeRuneInString(text); char != 0xFFFE && char != 0xFFFF {
			length = size // of these two git sees single bytes, as of invalid UTF-8
		}
		char := text[:length]
		if length > 1 || !plain(char[0]) {
			char = ""
			for i := range length {
				char += fmt.Sprintf("=%02X", text[i])
			}
		}
		if column+len(char)+len(endEncoded) > maxEncodedColumns {
			t.out.add(endEncoded + "\n " + beginEncoded)
			column = len(" " + beginEncoded)
		}
		t.out.add(char)
		column += len(char)
		text = text[length:]
	}
	t.out.add(endEncoded)
}

// specials are the characters that a name in a header may have only in quotes (RFC 5322, section
// 3.2.3).
const specials = `()<>[]:;@,."\`

// needsEncoding reports whether a header needs encoded words. ESC begins other character sets.
func needsEncoding(text string) bool {
	return !isASCII(text) || strings.Contains(text, "\n") || strings.Contains(text, "=?")
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf || c == '\x1b' }) < 0
}

// plainInSubject reports whether a byte stands for itself in an encoded word: RFC 2047, section 4.2.
func plainInSubject(c byte) bool { return '!' <= c && c <= '~' && strings.IndexByte("=?_", c) < 0 }

// plainInAddress is plainInSubject for a name: RFC 2047, section 5, rule 3.
func plainInAddress(c byte) bool { return isAlnum(c) || c != 0 && strings.IndexByte("!*+-/", c) >= 0 }
