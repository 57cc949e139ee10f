// `import PCastWindow` is enough for an application: the interface's types that other modules declare are exported here,
// one by one.
@_exported public import struct PCastCodecs.FrameMirroring
@_exported public import enum PCastCodecs.FrameRotation
@_exported public import struct PCastCore.ClockRate
@_exported public import struct PCastCore.Dimensions
@_exported public import struct PCastCore.FrameRectangle
@_exported public import enum PCastCore.MatrixCoefficients
@_exported public import struct PCastCore.MediaTime
@_exported public import struct PCastCore.VideoColor
@_exported public import class PCastCore.VideoFrame
@_exported public import struct PCastCore.WallTime
@_exported public import enum PCastRendering.AspectRatioMode
@_exported public import struct PCastRendering.FrameArrangement
@_exported public import protocol PCastRendering.RenderSurface
@_exported public import enum PCastRendering.SurfaceEvent
@_exported public import enum PCastRendering.SurfaceKey
@_exported public import struct PCastRendering.SurfaceStatistics
