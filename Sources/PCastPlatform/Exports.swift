// `import PCastPlatform` is enough for a server: the interface's types that other modules declare are exported here, one
// by one.
@_exported public import struct Logging.Logger
@_exported public import struct PCastCore.ApplicationID
@_exported public import struct PCastCore.DataQuality
@_exported public import struct PCastCore.IPAddress
@_exported public import struct PCastCore.IPNetwork
@_exported public import struct PCastCore.SessionID
@_exported public import enum PCastCore.StreamEndedReason
@_exported public import struct PCastCore.StreamID
@_exported public import struct PCastCore.TransportAddress
@_exported public import struct PCastCore.WallTime
// Tokens for a server that is its own backend.
@_exported public import enum PCastEdgeAuth.EdgeAuthError
@_exported public import struct PCastEdgeAuth.EdgeTokenBuilder
