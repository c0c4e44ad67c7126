"""Tools for agents: the operations of the HTTP service over the Model Context Protocol (MCP).

A tool call becomes a request to the service, in this process. So validation, scopes, limits, idempotency keys and
errors are the service's own, and an agent can do nothing that its token cannot do over HTTP.
"""
