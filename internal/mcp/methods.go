package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// These are the methods that the code distinguishes. MethodStream is that of SEP-2532; MethodSkillsList,
// MethodSkillsGet and MethodReadDirectory are those of SEP-2640.
const (
	MethodInitialize  = string(mcp.MethodInitialize)
	MethodInitialized = "notifications/initialized"
	MethodCancelled   = string(mcp.MethodNotificationCancelled)
	MethodDiscover    = string(mcp.MethodServerDiscover)
	MethodPing        = string(mcp.MethodPing)
	MethodList        = string(mcp.MethodResourcesList)
	MethodTemplates   = string(mcp.MethodResourcesTemplatesList)
	MethodRead        = string(mcp.MethodResourcesRead)
	MethodStream      = "resources/stream"
	MethodSubscribe   = string(mcp.MethodResourcesSubscribe)
	MethodUnsubscribe = string(mcp.MethodResourcesUnsubscribe)
	MethodListen      = string(mcp.MethodSubscriptionsListen)
	MethodComplete    = string(mcp.MethodCompletionComplete)
	MethodToolsList   = string(mcp.MethodToolsList)
	MethodToolsCall   = string(mcp.MethodToolsCall)
	MethodPromptsList = string(mcp.MethodPromptsList)
	MethodPromptsGet  = string(mcp.MethodPromptsGet)
	MethodSetLevel    = string(mcp.MethodSetLogLevel)

	MethodSkillsList    = "skills/list"
	MethodSkillsGet     = "skills/get"
	MethodReadDirectory = "resources/directory/read"
)

// handler answers a request with a result, or says why not.
type handler func(s *Server, ctx context.Context, r *Request) (any, *Error)

// methods are all methods, with the eras that have them.
var methods = map[string]struct {
	serve handler
	eras  []Era
}{
	MethodInitialize:  {handle((*Server).initialize), []Era{SessionEra}},
	MethodPing:        {handle((*Server).ping), []Era{SessionEra}},
	MethodSetLevel:    {handle((*Server).setLevel), []Era{SessionEra}},
	MethodSubscribe:   {handle((*Server).subscribe), []Era{SessionEra}},
	MethodUnsubscribe: {handle((*Server).unsubscribe), []Era{SessionEra}},
	MethodDiscover:    {handle((*Server).discover), []Era{ModernEra}},
	MethodList:        {handle((*Server).listResources), bothEras},
	MethodTemplates:   {handle((*Server).listTemplates), bothEras},
	MethodRead:        {handle((*Server).read), bothEras},
	MethodComplete:    {handle((*Server).complete), bothEras},
	MethodToolsList:   {handle((*Server).listTools), bothEras},
	MethodToolsCall:   {handle((*Server).callTool), bothEras},
	MethodPromptsList: {handle((*Server).listPrompts), bothEras},
	MethodPromptsGet:  {handle((*Server).getPrompt), bothEras},

	MethodSkillsList:    {handle((*Server).listSkills), bothEras},
	MethodSkillsGet:     {handle((*Server).getSkill), bothEras},
	MethodReadDirectory: {handle((*Server).readDirectory), bothEras},
}

var bothEras = []Era{SessionEra, ModernEra}

// handle makes a handler whose params are parsed into P.
func handle[P any](serve func(s *Server, ctx context.Context, r *Request, params P) (any, *Error)) handler {
	return func(s *Server, ctx context.Context, r *Request) (any, *Error) {
		params, failure := parseParams[P](r)
		if failure != nil {
			return nil, failure
		}
		return serve(s, ctx, r, params)
	}
}

// parseParams reads the params of a request. A null member counts as missing.
func parseParams[P any](r *Request) (params P, failure *Error) {
	if r.Params.Raw == nil {
		return params, nil
	}
	if err := json.Unmarshal(r.Params.Raw, &params); err != nil {
		return params, wrongType(r.Params.Raw, err)
	}
	return params, nil
}

// serve calls the handler of a request.
func (s *Server) serve(ctx context.Context, r *Request) (any, *Error) {
	method := methods[r.Method]
	if !slices.Contains(method.eras, r.Era) {
		method.serve = handle((*Server).refuseMethod)
	}
	result, failure := method.serve(s, ctx, r)
	if failure == nil {
		s.complement(r, result)
	}
	return result, failure
}

// refuseMethod answers a method that the era does not have.
func (s *Server) refuseMethod(_ context.Context, r *Request, _ struct{}) (any, *Error) {
	return nil, (&Error{Reason: ReasonMethod, Message: "Method not found. The server's capabilities say which " +
		"methods it has."}).With("method", r.Method)
}

func (s *Server) ping(context.Context, *Request, mcp.RequestParams) (any, *Error) {
	return &mcp.EmptyResult{}, nil
}

// setLevel accepts a log level and ignores it. The server neither sends log messages nor declares
// that it does, but some clients set a level without looking at the capabilities.
func (s *Server) setLevel(_ context.Context, _ *Request, params mcp.SetLevelParams) (any, *Error) {
	if failure := checkLevel("level", params.Level); failure != nil {
		return nil, failure
	}
	return &mcp.EmptyResult{}, nil
}

// checkLevel refuses a member of params that is no log level.
func checkLevel(member string, level mcp.LoggingLevel) *Error {
	if slices.Contains(levels, level) {
		return nil
	}
	return wrongMember(member, fmt.Sprintf("one of %q", levels))
}

// levels are those of syslog, by their names in MCP.
var levels = []mcp.LoggingLevel{
	mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelNotice, mcp.LoggingLevelWarning,
	mcp.LoggingLevelError, mcp.LoggingLevelCritical, mcp.LoggingLevelAlert, mcp.LoggingLevelEmergency,
}

// members are a result with members of drafts, which mcp-go's types do not have.
type members map[string]any

// complement adds the members that 2026-07-28 demands of every result.
func (s *Server) complement(r *Request, result any) {
	if r.Era != ModernEra {
		return
	}
	switch result := result.(type) {
	case members:
		var all mcp.CacheableResult
		s.stamp(r, &all)
		result["_meta"], result["resultType"] = all.Meta, all.ResultType
		result["cacheScope"], result["ttlMs"] = all.CacheScope, all.TTLMs
	case mcp.ResultMetadata:
		s.stamp(r, result)
	}
}

// cachedMethods have results that clients may keep for a while.
var cachedMethods = []string{MethodList, MethodSkillsList, MethodSkillsGet}

// stamp adds the server's identity, and how long a cacheable result may be kept.
func (s *Server) stamp(r *Request, result mcp.ResultMetadata) {
	result.SetResultType(mcp.ResultTypeComplete)
	result.EnsureResultMeta().SetServerInfo(s.implementation())
	if kept, ok := result.(mcp.CacheHintSetter); ok {
		var lifetime int64
		if slices.Contains(cachedMethods, r.Method) {
			lifetime = s.listLifetime().Milliseconds()
		}
		kept.SetCacheHints(lifetime, mcp.CacheScopePrivate)
	}
}
