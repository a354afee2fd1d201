package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

const (
	// maxFrontmatter bounds the text of a frontmatter. The specification recommends some hundred
	// bytes; the YAML library takes time and memory many times the text.
	maxFrontmatter = 64 << 10
	// maxRendered bounds the JSON object, because an alias repeats a value of any length.
	maxRendered = 128 << 10
	// maxNodes and maxNesting bound the values of a frontmatter, aliases followed.
	maxNodes   = 10_000
	maxNesting = 32
)

// byteOrderMark may begin a file of an editor of Windows.
const byteOrderMark = "\uFEFF"

// fence is the line before and after a frontmatter.
const fence = "---"

// headBytes is how much of a SKILL.md is needed: the frontmatter, and lines that are longer than a fence.
const headBytes = maxFrontmatter + 1024

// cutFrontmatter returns the text between the first two fences. head are the first headBytes of a
// file.
func cutFrontmatter(head []byte) ([]byte, error) {
	rest := bytes.TrimPrefix(head, []byte(byteOrderMark))
	first, rest, _ := bytes.Cut(rest, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != fence {
		return nil, errors.New("it does not begin with the line --- of YAML frontmatter")
	}
	for at := 0; at < min(len(rest), maxFrontmatter); {
		line, _, ended := bytes.Cut(rest[at:], []byte("\n"))
		if string(bytes.TrimRight(line, " \t\r")) == fence {
			return rest[:at], nil
		}
		if at += len(line) + 1; !ended {
			break
		}
	}
	if len(rest) > maxFrontmatter {
		return nil, fmt.Errorf("its frontmatter does not end within %d bytes", maxFrontmatter)
	}
	return nil, errors.New("no line --- ends its frontmatter")
}

// frontmatter is the parsed head of a SKILL.md.
type frontmatter struct {
	object            json.RawMessage
	name, description string
}

// parseFrontmatter reads the frontmatter at the head of a SKILL.md. Errors continue a sentence about
// the file.
func parseFrontmatter(head []byte) (f frontmatter, err error) {
	text, err := cutFrontmatter(head)
	if err != nil {
		return f, err
	}
	root, err := parseYAML(text)
	if err != nil {
		return f, err
	}
	var out renderer
	if err := out.render(root, 0); err != nil {
		return f, fmt.Errorf("its frontmatter %w", err)
	}
	f.object = out.json.Bytes()
	var members map[string]any
	if err := json.Unmarshal(f.object, &members); err != nil {
		return f, fmt.Errorf("its frontmatter is not understood: %w", err)
	}
	var named, described bool
	f.name, named = members["name"].(string)
	f.description, described = members["description"].(string)
	switch length := utf8.RuneCountInString(f.description); {
	case !named:
		return f, errors.New("its frontmatter has no name that is a string")
	case !IsName(f.name):
		return f, fmt.Errorf("the name %q is not of 1 to %d lower-case letters, digits and single hyphens between them",
			clip(f.name), maxName)
	case !described || strings.TrimSpace(f.description) == "":
		return f, errors.New("its frontmatter has no description that is a string")
	case length > maxDescription:
		return f, fmt.Errorf("its description has %d characters, more than the %d of the Agent Skills specification",
			length, maxDescription)
	}
	return f, nil
}

// clip bounds a string of a file that an error repeats.
func clip(s string) string { return quoting.Clip(s, 80) }

// parseYAML parses one document, whose value must be a map.
func parseYAML(text []byte) (root *yaml.Node, err error) {
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second error
	panicked := panics.Catch(func() error {
		first = decoder.Decode(&document)
		second = decoder.Decode(&more)
		return nil
	})
	switch {
	case panicked != nil:
		return nil, errors.New("its frontmatter is not understood")
	case first != nil:
		return nil, fmt.Errorf("its frontmatter is no valid YAML: %s",
			clip(strings.TrimPrefix(first.Error(), "yaml: ")))
	case !errors.Is(second, io.EOF):
		return nil, errors.New("its frontmatter is more than one YAML document")
	case len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode:
		return nil, errors.New("its frontmatter is no YAML map")
	}
	return document.Content[0], nil
}

// renderer writes YAML nodes as JSON. Errors continue a sentence about the frontmatter.
type renderer struct {
	json  bytes.Buffer
	nodes int
}

func (r *renderer) render(n *yaml.Node, depth int) error {
	if r.nodes++; r.nodes > maxNodes || depth > maxNesting || r.json.Len() > maxRendered {
		return fmt.Errorf("is larger than %d values, %d levels or %d bytes of JSON", maxNodes, maxNesting, maxRendered)
	}
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle != 0 && tag != "!!str" {
		return fmt.Errorf("has the tag %s in line %d; only !!str is understood by all hosts", clip(n.Tag), n.Line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return r.object(n, depth)
	case yaml.SequenceNode:
		return r.array(n, depth)
	case yaml.AliasNode:
		return r.render(n.Alias, depth+1)
	default:
		return r.scalar(n)
	}
}

func (r *renderer) array(n *yaml.Node, depth int) error {
	r.json.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			r.json.WriteByte(',')
		}
		if err := r.render(item, depth+1); err != nil {
			return err
		}
	}
	r.json.WriteByte(']')
	return nil
}

// object writes a map, whose keys are scalars.
func (r *renderer) object(n *yaml.Node, depth int) error {
	seen := make(map[string]bool, len(n.Content)/2)
	r.json.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0:
			return fmt.Errorf("has a key in line %d that is no plain string", key.Line)
		case seen[key.Value]:
			return fmt.Errorf("has the key %q twice", clip(key.Value))
		}
		seen[key.Value] = true
		if i > 0 {
			r.json.WriteByte(',')
		}
		r.text(key.Value)
		r.json.WriteByte(':')
		if err := r.render(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	r.json.WriteByte('}')
	return nil
}

func (r *renderer) text(s string) {
	encoded, _ := json.Marshal(s) // strings do not fail
	r.json.Write(encoded)
}

// These are the plain scalars of the core schema of YAML 1.2.2 (section 10.3.2) that are no strings.
var (
	nulls    = []string{"", "~", "null", "Null", "NULL"}
	truths   = []string{"true", "True", "TRUE"}
	untruths = []string{"false", "False", "FALSE"}
	decimal  = regexp.MustCompile(`^[-+]?[0-9]+$`)
	octal    = regexp.MustCompile(`^0o[0-7]+$`)
	hex      = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	float    = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	special  = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

const (
	baseDecimal, baseOctal, baseHex = 10, 8, 16
	prefixLength                    = len("0x")
	// maxDigits bounds the digits of a number.
	maxDigits = 400
)

func (r *renderer) scalar(n *yaml.Node) error {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle |
		yaml.TaggedStyle
	plain := n.Value
	if n.Style&quoted != 0 {
		r.text(plain)
		return nil
	}
	switch {
	case slices.Contains(nulls, plain):
		r.json.WriteString("null")
	case slices.Contains(truths, plain):
		r.json.WriteString("true")
	case slices.Contains(untruths, plain):
		r.json.WriteString("false")
	case special.MatchString(plain):
		return fmt.Errorf("has the number %s, which JSON does not have", plain)
	case decimal.MatchString(plain):
		return r.integer(plain, baseDecimal)
	case octal.MatchString(plain):
		return r.integer(plain[prefixLength:], baseOctal)
	case hex.MatchString(plain):
		return r.integer(plain[prefixLength:], baseHex)
	case float.MatchString(plain):
		return r.float(plain)
	default:
		r.text(plain)
	}
	return nil
}

// integer writes an integer with all of its digits.
func (r *renderer) integer(digits string, base int) error {
	number, ok := new(big.Int).SetString(digits, base)
	if len(digits) > maxDigits || !ok {
		return errNumber(digits)
	}
	r.json.WriteString(number.String())
	return nil
}

func (r *renderer) float(plain string) error {
	number, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(number, 0) {
		return errNumber(plain)
	}
	encoded, err := json.Marshal(number)
	r.json.Write(encoded)
	return err
}

func errNumber(plain string) error {
	return fmt.Errorf("has the number %s, which is too large", clip(plain))
}
