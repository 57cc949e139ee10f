// Applications that import `PCast` also get the value types of media and the types of source devices, because they are
// part of the public interface.
@_exported public import PCastCodecs
@_exported public import PCastCore
@_exported public import PCastDevices

// The types of render surfaces are part of the public interface too.
@_exported public import enum PCastRendering.AspectRatioMode
@_exported public import struct PCastRendering.FrameArrangement
@_exported public import class PCastRendering.FrameNotification
@_exported public import typealias PCastRendering.FrameReadyCallback
@_exported public import class PCastRendering.MemorySurface
@_exported public import struct PCastRendering.PixelBuffer
@_exported public import protocol PCastRendering.RenderSurface
@_exported public import enum PCastRendering.SurfaceEvent
@_exported public import enum PCastRendering.SurfaceKey
@_exported public import struct PCastRendering.SurfaceStatistics
@_exported public import struct PCastRendering.TerminalOptions
@_exported public import class PCastRendering.TerminalSurface
@_exported public import class PCastWindow.VideoWindow
@_exported public import enum PCastWindow.WindowError
@_exported public import struct PCastWindow.WindowOptions
