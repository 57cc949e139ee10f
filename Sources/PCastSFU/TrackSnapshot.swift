import PCastCore
import PCastRTP
import PCastWebRTC

/// What is known of a track beside its packets.
struct TrackSnapshot {
    var captureClock: CaptureClock?
    var followsReports = false
    var arrivalClock = ArrivalClock()
    var activity = TrackActivity()
    /// The size of its pictures, as the last key frame told.
    var dimensions: Dimensions?
    /// What it takes on the wire; of one that rests, what it took.
    var bitrate: Bitrate?
    /// The newest key frame: its time, and the payload of it that has come.
    var keyFrame: (timestamp: UInt32, byteCount: Int)?
    var parameterSets = H264ParameterSets()
}
