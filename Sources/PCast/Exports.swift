// `import PCast` is enough for an application: the interface's types that other modules of the package declare are
// exported here, one by one. The other names of those modules stay internal.

// Logging, which options configure.
@_exported public import protocol Logging.LogHandler
@_exported public import struct Logging.Logger

// Encoders, and the conversion of frames.
@_exported public import enum PCastCodecs.CodecError
@_exported public import struct PCastCodecs.FrameMirroring
@_exported public import enum PCastCodecs.FrameRotation
@_exported public import class PCastCodecs.RawFrameConverter
@_exported public import enum PCastCodecs.RawPixelFormat
@_exported public import enum PCastCodecs.VideoEncoderChoice
@_exported public import struct PCastCodecs.VideoEncoderInfo
@_exported public import struct PCastCodecs.VideoEncodingSpeed
@_exported public import class PCastCodecs.VideoFramePool
// Values: frames, streams, times, captions and statistics.
@_exported public import struct PCastCore.AudioFrame
@_exported public import struct PCastCore.Bitrate
@_exported public import struct PCastCore.CaptionCue
@_exported public import struct PCastCore.ClockRate
@_exported public import enum PCastCore.Codec
@_exported public import struct PCastCore.DataQuality
@_exported public import struct PCastCore.Dimensions
@_exported public import struct PCastCore.FrameRectangle
@_exported public import struct PCastCore.Instant
@_exported public import enum PCastCore.MatrixCoefficients
@_exported public import struct PCastCore.MediaTime
@_exported public import enum PCastCore.MediaType
@_exported public import struct PCastCore.RTCCodecStats
@_exported public import struct PCastCore.RTCIceCandidatePairStats
@_exported public import struct PCastCore.RTCIceCandidateStats
@_exported public import struct PCastCore.RTCInboundRTPStreamStats
@_exported public import struct PCastCore.RTCMediaSourceStats
@_exported public import struct PCastCore.RTCOutboundRTPStreamStats
@_exported public import struct PCastCore.RTCRemoteInboundRTPStreamStats
@_exported public import struct PCastCore.RTCRemoteOutboundRTPStreamStats
@_exported public import protocol PCastCore.RTCStats
@_exported public import struct PCastCore.RTCStatsReport
@_exported public import enum PCastCore.RTCStatsType
@_exported public import struct PCastCore.RTCTransportStats
@_exported public import enum PCastCore.RequestStatus
@_exported public import struct PCastCore.SessionID
@_exported public import enum PCastCore.StreamEndedReason
@_exported public import struct PCastCore.StreamID
@_exported public import struct PCastCore.TimedText
@_exported public import struct PCastCore.TimedTextError
@_exported public import struct PCastCore.VideoColor
@_exported public import class PCastCore.VideoFrame
@_exported public import struct PCastCore.WallTime
// Source devices, their capabilities and constraints.
@_exported public import struct PCastDevices.AudioCapabilities
@_exported public import enum PCastDevices.AudioChannelLayout
@_exported public import struct PCastDevices.AudioConfiguration
@_exported public import enum PCastDevices.AudioEchoCancellationMode
@_exported public import typealias PCastDevices.AudioSelection
@_exported public import enum PCastDevices.AutoFocusMode
@_exported public import enum PCastDevices.CaptureEncoding
@_exported public import struct PCastDevices.CaptureFormat
@_exported public import struct PCastDevices.ConstraintExplanation
@_exported public import struct PCastDevices.ConstraintFailure
@_exported public import struct PCastDevices.ConstraintSelection
@_exported public import enum PCastDevices.DeviceCapability
@_exported public import struct PCastDevices.DeviceConstraint
@_exported public import typealias PCastDevices.DeviceConstraints
@_exported public import struct PCastDevices.DeviceControl
@_exported public import enum PCastDevices.DeviceError
@_exported public import struct PCastDevices.DeviceIdentity
@_exported public import enum PCastDevices.DeviceLocation
@_exported public import enum PCastDevices.FacingMode
@_exported public import enum PCastDevices.FlashMode
@_exported public import struct PCastDevices.FocusTarget
@_exported public import struct PCastDevices.FrameRate
@_exported public import enum PCastDevices.PolarPattern
@_exported public import struct PCastDevices.SourceDevice
@_exported public import enum PCastDevices.SourceDeviceChange
@_exported public import struct PCastDevices.SourceDeviceInfo
@_exported public import enum PCastDevices.SourceSpecification
@_exported public import struct PCastDevices.VideoCapabilities
@_exported public import struct PCastDevices.VideoConfiguration
@_exported public import typealias PCastDevices.VideoSelection
@_exported public import enum PCastDevices.VideoSourceRotationMode
// Tokens for a program that is its own backend.
@_exported public import enum PCastEdgeAuth.EdgeAuthError
@_exported public import struct PCastEdgeAuth.EdgeTokenBuilder
// Errors of terminals.
@_exported public import enum PCastIO.IOError
// Render surfaces.
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
