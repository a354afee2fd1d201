package httpx

import "net/http"

// Handler is the whole server without its listener.
func (s *Server) Handler() http.Handler { return s.http.Handler }
