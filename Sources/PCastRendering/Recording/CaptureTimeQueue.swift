import PCastCore

/// A frame of a stream, and the time at which it arrived.
struct ArrivedFrame: Sendable {
    var frame: EncodedFrame
    let arrival: Instant
}

/// Delays the first frames of each track until a capture time is known, and states it for all of them.
///
/// The first frames of a viewer arrive before the first sender report, and the first key frame may be some seconds old. By
/// their arrival, audio and video would not be aligned. The queue reads no clock; the frames have their times.
struct CaptureTimeQueue {
    /// The time for which frames wait. Sender reports arrive at least once per second. Later, frames have no capture time.
    private static let timeout = TimeSpan.seconds(2 as Int64)
    /// The number of frames that wait, more than arrive in ``timeout``. Further ones end the wait.
    private static let capacity = 512

    /// The wall-clock time at the origin of the timestamps of each track; nil if the wait for it is over.
    private var origins: [MediaType: WallTime?] = [:]
    private var waiting: [ArrivedFrame] = []

    /// Adds the next frame, and returns those that wait no longer, in order.
    mutating func add(_ arrived: ArrivedFrame) -> [ArrivedFrame] {
        let media = arrived.frame.codec.mediaType
        if let captured = arrived.frame.captureTime { origins[media] = .some(captured - arrived.frame.timestamp.span) }
        waiting.append(arrived)
        if let first = waiting.first,
            waiting.count >= Self.capacity || arrived.arrival - first.arrival >= Self.timeout
        {
            return finish()
        }
        return waiting.allSatisfy { origins[$0.frame.codec.mediaType] != nil } ? take() : []
    }

    /// Ends the wait, and returns all frames that wait.
    mutating func finish() -> [ArrivedFrame] {
        for arrived in waiting where origins[arrived.frame.codec.mediaType] == nil {
            origins[arrived.frame.codec.mediaType] = .some(nil)
        }
        return take()
    }

    private mutating func take() -> [ArrivedFrame] {
        defer { waiting.removeAll() }
        return waiting.map { arrived in
            var arrived = arrived
            if arrived.frame.captureTime == nil, let origin = origins[arrived.frame.codec.mediaType] ?? nil {
                arrived.frame.captureTime = origin + arrived.frame.timestamp.span
            }
            return arrived
        }
    }
}
