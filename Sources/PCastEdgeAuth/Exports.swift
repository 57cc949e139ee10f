// `import PCastEdgeAuth` is enough for a backend: the interface's types that other modules declare are exported here, one
// by one.
@_exported public import struct PCastCore.IPAddress
@_exported public import struct PCastCore.WallTime
@_exported public import enum PCastJSON.JSONError
@_exported public import struct PCastJSON.JSONLimits
@_exported public import struct PCastJSON.JSONNumber
@_exported public import struct PCastJSON.JSONObject
@_exported public import enum PCastJSON.JSONValue
