/// The nouns of media and of source devices are part of this library's interface: who imports `PCast` has them.
@_exported public import PCastCodecs
@_exported public import PCastCore
@_exported public import PCastDevices

/// So is where a renderer shows its pictures, and what it lets applications do with them.
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
