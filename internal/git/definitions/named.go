package definitions

import (
	"regexp"
	"slices"
	"strings"
)

// Named returns the definitions of a name in the first of some lists for a text that has it. A qualified name, such as
// Reader.Read or Reader::read, is that of a definition within another one, or of a method. Where
// several lines fit, those that define the name come alone: others only mention it, such as
// prototypes and parameters, and are returned if no list has a definition.
func Named(name string, lists ...[]Definition) []Definition {
	parts := strings.FieldsFunc(strings.NewReplacer("::", "\x00", "->", "\x00", ".", "\x00", "#", "\x00").Replace(name),
		func(r rune) bool { return r == 0 })
	if len(parts) == 0 {
		return nil
	}
	last, outer := parts[len(parts)-1], parts[:len(parts)-1]
	for class := range classes {
		for _, list := range lists {
			var named []Definition
			for i, d := range list {
				whole := class == 0 && slices.Contains(d.names, name) // the dot is a part of names such as main.o
				if whole || d.class(last) == class && within(list, i, last, outer) {
					named = append(named, d)
				}
			}
			if len(named) > 0 {
				return named
			}
		}
	}
	return nil
}

// within reports whether a definition is inside of the named ones, or names them itself before its
// own name, as in func (r *Reader) Read and void Reader::read().
func within(list []Definition, at int, name string, outer []string) bool {
	d := list[at]
	before, _, _ := strings.Cut(d.Text, name)
	for n := len(outer) - 1; n >= 0; n-- {
		if wordIn(before, outer[n]) || strings.Contains(d.Text, outer[n]+"::"+name) { // A::A
			continue
		}
		parent := d.parent
		for parent > 0 && !wordIn(list[parent-1].Text, outer[n]) {
			parent = list[parent-1].parent
		}
		if parent == 0 {
			return false
		}
	}
	return true
}

// classes are how many ways there are to have a name: see class.
const classes = 3

// class tells how a definition has a name: 0 as what it defines, 1 as what it declares, 2 as a
// mention; -1 not at all.
func (d Definition) class(name string) int {
	if d.names != nil {
		for _, n := range d.names {
			if n == name {
				return 0
			}
		}
		return -1
	}
	if !wordIn(d.Text, name) {
		return -1
	}
	defines := definedName(d.Text) == name
	switch {
	case defines && !strings.HasSuffix(d.Text, ";"):
		return 0
	case defines:
		return 1
	default:
		return 2
	}
}

// Names returns the names that the definition most likely has.
func (d Definition) Names() []string {
	if d.names != nil {
		return d.names
	}
	if name := definedName(d.Text); name != "" {
		return []string{name}
	}
	return nil
}

var (
	// keywords come directly before the name that is defined.
	keywords = regexp.MustCompile(`(?i)(?:^|[^\w])(?:func|function|fn|fun|def|defp|defmacro|defmodule|defprotocol|` +
		`class|module|struct|enum|union|trait|interface|record|type|impl|mod|macro_rules!|procedure|subroutine|` +
		`program|package|protocol|@interface|@implementation|@protocol|namespace|sub|constructor|destructor|` +
		`task|define\S*|typedef|classdef)\s+[(*&]*([\p{L}_$][\p{L}\p{N}_$?!'-]*)`)
	// called is a name before its parameters.
	called = regexp.MustCompile(`([\p{L}_$~][\p{L}\p{N}_$?!]*)\s*\(`)
	word   = regexp.MustCompile(`[\p{L}_$][\p{L}\p{N}_$]*`)
)

// definedName returns the name that a line most likely defines.
func definedName(line string) string {
	if receiver := strings.HasPrefix(line, "func ("); receiver { // Go: the name follows the receiver
		_, after, _ := strings.Cut(line, ")")
		line = after
	}
	call := called.FindStringSubmatchIndex(line)
	if key := keywords.FindStringSubmatchIndex(line); key != nil && (call == nil || key[2] <= call[2]) {
		// struct a *b(void) defines b
		if call == nil || call[2] < key[3] || !strings.ContainsAny(line[key[3]:call[2]], "*& \t") ||
			strings.ContainsAny(line[key[3]:call[2]], "=:<{") {
			return line[key[2]:key[3]]
		}
	}
	if call != nil {
		return line[call[2]:call[3]]
	}
	before, _, _ := strings.Cut(line, "=")
	before, _, _ = strings.Cut(before, "[")
	words := word.FindAllString(before, -1)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// wordIn reports whether a line has a name as a whole word.
func wordIn(line, name string) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], name)
		if at < 0 {
			return false
		}
		at += from
		if !continues(line[:at], true) && !continues(line[at+len(name):], false) {
			return true
		}
		from = at + 1
	}
}

// continues reports whether a word reaches over the end or the beginning of a text.
func continues(text string, end bool) bool {
	if text == "" {
		return false
	}
	c := text[0]
	if end {
		c = text[len(text)-1]
	}
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
