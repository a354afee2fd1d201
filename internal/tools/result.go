package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

const (
	// maxResultBytes bounds texts and data of a result together: about 8,000 to 10,000 tokens.
	// Above that, clients warn about results or cut them, whether they show texts, data or both.
	maxResultBytes = 32 << 10
	// maxListedBytes is the share of the list or the text. The rest is for notes.
	maxListedBytes = maxResultBytes - 4<<10

	// metaOrigin marks blocks with content of a repository, and results with such data.
	metaOrigin   = "io.github.repomcp/origin"
	originOfRepo = "repository"

	// metaStreamable marks a link whose bytes resources/stream returns (SEP-2532).
	metaStreamable = "io.github.repomcp/streamable"
)

// result of a tool. Notes describe the result: what is missing, how to continue.
type result struct {
	content string   // from a repository
	isText  bool     // the content is that of a file; it may be empty
	lines   []string // of a list or a record, from a repository as well
	data    noted    // the same for programs; nil for a tool without schema
	next    string   // the argument that continues a cut result
	notes   []string
	asides  []string       // places with more; left out if there is no room
	files   []mcp.Content  // links, and blocks whose bytes follow the result
	stopped bool           // the tree is too large to be walked
	meta    map[string]any // of the result
	pinned  bool           // the arguments name the commit by its id
}

// noted is data with a field for notes.
type noted interface{ setNotes(notes []string) }

// remarks is embedded in the data of every tool, because clients that show the data show no text.
type remarks struct {
	Notes []string `json:"notes,omitempty" jsonschema:"What to know of this result, and how to go on"`
}

func (r *remarks) setNotes(notes []string) { r.Notes = notes }

func (r *result) note(format string, arguments ...any) {
	if note := fmt.Sprintf(format, arguments...); !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}

// noteDownload notes in the text where there is more, and how to download it. It adds no link:
// frameworks read every link that they get, or fail on it.
func (r *result) noteDownload(l resources.Location, format string, arguments ...any) {
	r.asides = append(r.asides, fmt.Sprintf(format, arguments...), howToDownload(l))
}

// addLink adds a link to the requested content, and the command to download it.
func (v *visit) addLink(l resources.Location, description string) {
	if !v.NoLinks {
		v.files = append(v.files, newLink(l, description))
	}
	v.asides = append(v.asides, howToDownload(l))
}

// render puts the repository's content into the first block. Some clients show only that block, so
// it says itself if it was cut. Notes and then links follow.
func (r *result) render() *mcp.CallToolResult {
	r.fitNotes()
	out := &mcp.CallToolResult{}
	shown := r.repositoryText()
	if shown != "" || r.isText {
		block := mcp.NewTextContent(shown)
		block.Meta = ofRepository()
		out.Content = append(out.Content, block)
	}
	if len(r.notes) > 0 || len(out.Content) == 0 {
		var notes strings.Builder
		startLine(&notes, shown) // some clients concatenate blocks
		notes.WriteString(strings.Join(r.notes, "\n"))
		out.Content = append(out.Content, mcp.NewTextContent(notes.String()))
	}
	out.Content = append(out.Content, r.files...)
	if r.data != nil {
		out.StructuredContent, out.Meta = r.data, ofRepository()
	}
	if r.pinned && len(r.files) == 0 { // bytes beside the text would have to be read for it
		r.meta = resources.MergeMeta(r.meta, validatorOf(out))
	}
	if r.meta != nil && out.Meta == nil {
		out.Meta = mcp.NewMetaFromMap(r.meta)
	} else if r.meta != nil {
		maps.Copy(out.Meta.AdditionalFields, r.meta)
	}
	return out
}

// validatorOf returns the member of _meta with a digest of what a result shows. The arguments alone
// would not do: people are shown by the .mailmap of HEAD, and a later release may show more.
func validatorOf(shown *mcp.CallToolResult) map[string]any {
	text, err := json.Marshal([]any{shown.Content, shown.StructuredContent})
	if err != nil {
		return nil // the reply fails for the same reason
	}
	sum := sha256.Sum256(text)
	return resources.ValidatorMeta(hex.EncodeToString(sum[:validatorBytes]))
}

// validatorBytes are enough of a digest to tell results apart.
const validatorBytes = 16

func ofRepository() *mcp.Meta { return mcp.NewMetaFromMap(map[string]any{metaOrigin: originOfRepo}) }

// repositoryText returns the content of the first block.
func (r *result) repositoryText() string {
	var b strings.Builder
	b.WriteString(r.content)
	if len(r.lines) > 0 && r.content != "" {
		startLine(&b, r.content)
		b.WriteByte('\n')
	}
	for _, line := range r.lines {
		b.WriteString(line + "\n")
	}
	if r.next != "" {
		startLine(&b, b.String())
		b.WriteString(cutHere("Go on with " + r.next))
	}
	return b.String()
}

// cutHere returns the line that marks a cut in a text.
func cutHere(more string) string { return "[Cut here. " + more + "]\n" }

// startLine ends the previous line if needed.
func startLine(b *strings.Builder, before string) {
	if before != "" && !strings.HasSuffix(before, "\n") {
		b.WriteByte('\n')
	}
}

// fitNotes appends as many asides to the notes as fit.
func (r *result) fitNotes() {
	all := slices.Concat(r.notes, r.asides)
	for r.notes = all; r.size() > maxResultBytes && len(r.notes) > len(all)-len(r.asides); {
		r.notes = r.notes[:len(r.notes)-1]
	}
	r.asides = nil
}

// size returns the bytes of texts, data and links.
func (r *result) size() int {
	size := len(r.repositoryText())
	for _, note := range r.notes {
		size += len(note) + 1
	}
	if r.data != nil {
		r.data.setNotes(r.notes)
		size += jsonSize(r.data)
	}
	for _, block := range r.files {
		size += jsonSize(block)
	}
	return size
}

func jsonSize(data any) int {
	raw, err := json.Marshal(data)
	if err != nil {
		return 0
	}
	return len(raw)
}

// resourceLink adds the fields of SEP-2166 and SEP-2532 to mcp-go's type. Typed clients strip
// unknown fields, so _meta repeats them.
type resourceLink struct {
	mcp.ResourceLink
	Streamable  bool   `json:"streamable"`
	HTTP        string `json:"httpUrl,omitempty"`
	HTTPExpires string `json:"httpUrlExpiresAt,omitempty"`
}

func newLink(l resources.Location, description string) mcp.Content {
	streamable := l.Route != "" // over HTTP
	link := resourceLink{
		ResourceLink: mcp.NewResourceLink(l.URI, quote(l.FileName), description, l.MIMEType), Streamable: streamable,
		HTTP: l.HTTP, HTTPExpires: l.HTTPExpires,
	}
	if l.Size != resources.UnknownSize {
		link.Size = &l.Size
	}
	meta := map[string]any{metaStreamable: streamable}
	maps.Copy(meta, l.Meta)
	link.Meta = mcp.NewMetaFromMap(meta)
	return link
}

// plural counts things.
func plural(count int, thing string) string {
	switch stem, isY := strings.CutSuffix(thing, "y"); {
	case count == 1:
		return "1 " + thing
	case isY:
		return fmt.Sprintf("%d %sies", count, stem)
	default:
		return fmt.Sprintf("%d %ss", count, thing)
	}
}

// maxLineBytes bounds the shown part of a subject or of a person's name: more than people write in one line.
const maxLineBytes = 1000

// quote makes a name safe to show in a line; see [quoting.Name].
func quote(name string) string { return quoting.Name(name) }

// unquote undoes [quote]. A name without a leading double quote is returned unchanged; a quoted
// name that quote did not make is refused.
func unquote(s string) (name string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, true
	}
	content, rest, ok := quoting.Cut([]byte(s))
	return string(content), ok && len(rest) == 0 && len(content) > 0
}

// line makes a string that is not a name, such as a subject, safe to show in a line. Tabs become
// spaces.
func line(text string) string { return untabbed(clean(text)) }

func untabbed(text string) string { return strings.ReplaceAll(text, "\t", " ") }

// clean makes such a string safe to show as data, and keeps its tabs. It is irreversible:
// everything else that quote escapes becomes U+FFFD.
func clean(text string) string {
	return quoting.Clean(quoting.Clip(text, maxLineBytes))
}

func clip(argument string) string { return spelling.Clip(argument) }
