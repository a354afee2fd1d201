package language

import (
	"bytes"
	"strings"
)

// interpreter returns the program of a first line such as "#!/usr/bin/env -S python3.11 -u",
// without a minor version; "" if there is none.
func interpreter(content []byte) string {
	line, _, _ := bytes.Cut(content, []byte{'\n'})
	command, ok := bytes.CutPrefix(line, []byte("#!"))
	if !ok {
		return ""
	}
	words := strings.Fields(string(command))
	if len(words) > 0 && base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 1 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return ""
	}
	name := base(words[0])
	if strings.HasPrefix(name, "python") {
		name, _, _ = strings.Cut(name, ".")
	}
	return name
}
