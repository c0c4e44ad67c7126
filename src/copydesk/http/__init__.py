"""The HTTP service: translate requests into operations of the desk, and their results into JSON. No logic.

`operations` is the table of all operations, from which routes, authorization and the OpenAPI document are made. The
modules in `resources` declare them, one module per resource.
"""
