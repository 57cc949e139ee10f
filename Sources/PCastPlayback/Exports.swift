// `import PCastPlayback` is enough for an application. A player plays and publishes streams of the SDK, which is a product
// too. Types of other modules in the interface are exported one by one.
@_exported public import PCast

// Properties of cue points and sources.
@_exported public import enum PCastJSON.JSONError
@_exported public import struct PCastJSON.JSONLimits
@_exported public import struct PCastJSON.JSONNumber
@_exported public import struct PCastJSON.JSONObject
@_exported public import enum PCastJSON.JSONValue

// The messages, errors and states of overlays.
@_exported public import enum PCastOverlay.OverlayClosing
@_exported public import enum PCastOverlay.OverlayControls
@_exported public import struct PCastOverlay.OverlayCore
@_exported public import struct PCastOverlay.OverlayEnvelope
@_exported public import struct PCastOverlay.OverlayError
@_exported public import enum PCastOverlay.OverlayMessage
@_exported public import struct PCastOverlay.OverlayPage
@_exported public import enum PCastOverlay.OverlayPlayerState
@_exported public import struct PCastOverlay.OverlayReport
@_exported public import enum PCastOverlay.OverlayStatus
@_exported public import enum PCastOverlay.OverlaySwipe
@_exported public import struct PCastOverlay.OverlayTime
@_exported public import enum PCastOverlay.OverlayWireError
@_exported public import struct PCastOverlay.VideoScale
@_exported public import struct PCastOverlay.VideoScaleFrame

// The events of timelines.
@_exported public import struct PCastTimeline.EventPlayer
@_exported public import struct PCastTimeline.EventRole
@_exported public import struct PCastTimeline.GameEvent
@_exported public import struct PCastTimeline.GameEventKind
@_exported public import struct PCastTimeline.GameInfo
@_exported public import protocol PCastTimeline.SchemaString
@_exported public import struct PCastTimeline.Score
@_exported public import struct PCastTimeline.Scorecard
@_exported public import struct PCastTimeline.SequenceNumber
@_exported public import struct PCastTimeline.Team
@_exported public import struct PCastTimeline.TeamPlayer
@_exported public import struct PCastTimeline.TeamSide
@_exported public import enum PCastTimeline.TimelineChangeType
@_exported public import struct PCastTimeline.TimelineDelivery
@_exported public import enum PCastTimeline.TimelineError
@_exported public import struct PCastTimeline.TimelineEventID
@_exported public import struct PCastTimeline.TimelineGame
@_exported public import struct PCastTimeline.TimelineLimits
@_exported public import struct PCastTimeline.TimelineLogID
@_exported public import enum PCastTimeline.TimelineMessage
@_exported public import protocol PCastTimeline.TimelineRecord
@_exported public import struct PCastTimeline.TimelineRevision
