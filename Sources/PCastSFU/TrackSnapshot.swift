import PCastCore
import PCastRTP
import PCastWebRTC

/// The state of a track in addition to its packets.
struct TrackSnapshot {
    var captureClock: CaptureClock?
    var followsReports = false
    var arrivalClock = ArrivalClock()
    var activity = TrackActivity()
    /// The dimensions of its frames according to the last key frame; nil while they are unknown.
    var dimensions: Dimensions?
    /// The bit rate on the wire. For a paused track it is the last bit rate; nil while it is unknown.
    var bitrate: Bitrate?
    /// The timestamp of the newest key frame, and the size of the payload that has arrived.
    var keyFrame: (timestamp: UInt32, byteCount: Int)?
    var parameterSets = H264ParameterSets()
}
