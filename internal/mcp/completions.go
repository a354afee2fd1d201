package mcp

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	// maxCompletions is the bound of the specification.
	maxCompletions = 100
	// maxCompletionSteps bounds the history that one completion walks, as [git.WithSteps] counts
	// it: about ten milliseconds of work, since clients ask at every keystroke. It bounds steps and
	// not time, so a busy server takes longer and finds the same.
	maxCompletionSteps = 100_000
)

// completions answers completion/complete for the variables of the templates and the arguments of
// prompts. An argument with the name of a variable is completed like the variable. Completions
// never walk the root.
type completions struct{ view repos.View }

// question is one completion request.
type question struct {
	variable string
	typed    string
	known    map[string]string // filled in before
	archive  bool              // paths are pathspecs of an archive
}

// answer has the candidates in order of relevance.
type answer struct {
	values []string
	// cut says that not all candidates were looked at.
	cut bool
	// ranked says that values match the typed string and are in the right order.
	ranked bool
}

// completeParams are [mcp.CompleteParams], whose reader does not say which member is wrong.
type completeParams struct {
	Ref struct {
		Type string `json:"type"`
		Name string `json:"name"` // of a prompt
		URI  string `json:"uri"`  // of a template
	} `json:"ref"`
	Argument mcp.CompleteArgument `json:"argument"`
	Context  mcp.CompleteContext  `json:"context"`
}

// complete answers completion/complete.
func (s *Server) complete(ctx context.Context, _ *Request, params completeParams) (any, *Error) {
	if failure := s.checkReference(params); failure != nil {
		return nil, failure
	}
	q := question{
		variable: params.Argument.Name, typed: params.Argument.Value, known: params.Context.Arguments,
		archive: strings.Contains(params.Ref.URI, "/archive/"),
	}
	c := completions{s.options.Catalogue.For(ctx)}
	return &mcp.CompleteResult{Completion: c.complete(ctx, q)}, nil
}

// checkReference refuses a variable or argument that no template and no prompt has.
func (s *Server) checkReference(params completeParams) *Error {
	name := params.Argument.Name
	switch params.Ref.Type {
	case "ref/prompt":
		at := slices.IndexFunc(s.prompts, func(prompt mcp.Prompt) bool { return prompt.Name == params.Ref.Name })
		if at < 0 {
			return s.unknownName("prompt", params.Ref.Name, names(s.prompts))
		}
		return checkArgument(s.prompts[at], name)
	case "ref/resource":
		if !slices.ContainsFunc(s.templates(), func(t template) bool { return t.URI == params.Ref.URI }) {
			return (&Error{Reason: ReasonParams, Message: "There is no template of that URI. Take it from " +
				"resources/templates/list."}).With("template", resources.Text(resources.ClipLong(params.Ref.URI)))
		}
		if variables := variablesOf(params.Ref.URI); !slices.Contains(variables, name) {
			return argumentError(resources.Clip(name), "The template has no variable %q. It has "+
				"%q.", resources.Clip(name), variables)
		}
		return nil
	default:
		return wrongMember("ref.type", "ref/prompt or ref/resource")
	}
}

func (c completions) complete(ctx context.Context, q question) mcp.Completion {
	source := c.sources()[q.variable]
	if source == nil || len(q.typed) > resources.MaxURIBytes {
		return mcp.Completion{Values: []string{}}
	}
	found, err := source(git.WithSteps(ctx, maxCompletionSteps), q)
	if err != nil {
		// A repository that is missing and one that the client may not read must look the same:
		// both have no candidates.
		found = answer{}
	}
	values := found.values
	if !found.ranked {
		values = rank(values, q.typed)
	}
	completion := mcp.Completion{Values: append([]string{}, values...), Total: len(values)}
	if len(values) > maxCompletions {
		completion.Values, completion.HasMore = values[:maxCompletions], true
	}
	if found.cut {
		completion.Total, completion.HasMore = 0, true // the total is unknown
	}
	return completion
}

// rank keeps candidates that contain the typed string: first those that begin with it, then those
// with a part that does, then the others. It ignores case.
func rank(candidates []string, typed string) []string {
	const classes = 3
	typed = strings.ToLower(typed)
	var ranked [classes][]string
	for _, candidate := range candidates {
		if class := match(strings.ToLower(candidate), typed); class < classes && presentable(candidate) {
			ranked[class] = append(ranked[class], candidate)
		}
	}
	return append(append(ranked[0], ranked[1]...), ranked[2]...)
}

// match returns how well a candidate matches: 0 is best, 3 is no match.
func match(candidate, typed string) int {
	begins := func(separator string) bool { return strings.Contains(candidate, separator+typed) }
	switch {
	case strings.HasPrefix(candidate, typed):
		return 0
	case !strings.Contains(candidate, typed):
		return 3
	case slices.ContainsFunc([]string{"/", "-", "_", "."}, begins):
		return 1
	default:
		return 2
	}
}

// presentable reports whether a name can be shown and typed. Characters that control a terminal,
// turn the direction of text or are invisible could pass for others.
func presentable(name string) bool {
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unseen)
}
