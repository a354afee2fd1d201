package mcp

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// The methods that are told apart. MethodStream is that of SEP-2532.
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
	MethodPromptsGet  = string(mcp.MethodPromptsGet)
)

// handler answers a request with a result, or says why not.
type handler func(s *Server, ctx context.Context, r *Request) (any, *Error)

// methods are those that are answered here, by era; mcp-go has the others, and
// knows that there are no more.
var methods = [...]map[string]handler{
	SessionEra: {
		MethodInitialize:  handle((*Server).initialize),
		MethodList:        handle((*Server).listResources),
		MethodTemplates:   handle((*Server).listTemplates),
		MethodRead:        handle((*Server).read),
		MethodSubscribe:   handle((*Server).subscribe),
		MethodUnsubscribe: handle((*Server).unsubscribe),
		MethodComplete:    handle((*Server).complete),
		MethodPromptsGet:  handle((*Server).getPrompt),
	},
	ModernEra: {
		MethodDiscover:   handle((*Server).discover),
		MethodList:       handle((*Server).listResources),
		MethodTemplates:  handle((*Server).listTemplates),
		MethodRead:       handle((*Server).read),
		MethodComplete:   handle((*Server).complete),
		MethodPromptsGet: handle((*Server).getPrompt),
	},
}

// handle has the params of a method read as those of their type.
func handle[P any](serve func(s *Server, ctx context.Context, r *Request, params P) (any, *Error)) handler {
	return func(s *Server, ctx context.Context, r *Request) (any, *Error) {
		params, failure := parseParams[P](r)
		if failure != nil {
			return nil, failure
		}
		return serve(s, ctx, r, params)
	}
}

// parseParams reads the params of a request, and the capabilities of a modern
// client among them, which must be readable.
func parseParams[P any](r *Request) (params P, failure *Error) {
	var capabilities mcp.ClientCapabilities
	if r.Era == ModernEra && json.Unmarshal(r.Params.Capabilities, &capabilities) != nil {
		return params, foreignError(mcp.INVALID_PARAMS, missingMeta+mcp.MetaKeyClientCapabilities, r.Method)
	}
	if r.Params.Raw != nil && json.Unmarshal(r.Params.Raw, &params) != nil {
		return params, foreignError(mcp.INVALID_REQUEST, "", r.Method)
	}
	return params, nil
}

// serve finds who answers a request.
func (s *Server) serve(ctx context.Context, r *Request) (any, *Error) {
	serve := methods[r.Era][r.Method]
	if serve == nil {
		return s.delegate(ctx, r)
	}
	result, failure := serve(s, ctx, r)
	if failure == nil {
		s.complement(r, result)
	}
	return result, failure
}

// ownResult is a result with members of drafts, which mcp-go's types do not have.
type ownResult interface {
	// complement takes over what 2026-07-28 wants of a result that may be kept.
	complement(c mcp.CacheableResult)
}

// complement adds to a result what 2026-07-28 wants of all. Those of mcp-go have it.
func (s *Server) complement(r *Request, result any) {
	if r.Era != ModernEra {
		return
	}
	switch result := result.(type) {
	case ownResult:
		var all mcp.CacheableResult
		s.stamp(r, &all)
		result.complement(all)
	case mcp.ResultMetadata:
		s.stamp(r, result)
	}
}

// stamp says who answers, and for how long the answer may be kept if it may.
func (s *Server) stamp(r *Request, result mcp.ResultMetadata) {
	result.SetResultType(mcp.ResultTypeComplete)
	result.EnsureResultMeta().SetServerInfo(s.implementation())
	if kept, ok := result.(mcp.CacheHintSetter); ok {
		var lifetime int64
		if r.Method == MethodList {
			lifetime = s.listLifetime().Milliseconds()
		}
		kept.SetCacheHints(lifetime, mcp.CacheScopePrivate)
	}
}
