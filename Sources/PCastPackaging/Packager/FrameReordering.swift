internal import PCastCore

/// Finds the decoding times of frames that arrive in decoding order and state their presentation times only.
///
/// The decoding time of a frame is the presentation time that has its place among all of them in order. So decoding times
/// increase, key frames of closed groups are decoded at their presentation times, and composition offsets may be negative.
/// With B-frames, a time is known when as many later frames have arrived as the encoder reorders. Without them, it is known
/// at once.
struct FrameReordering<Frame: Sendable>: Sendable {
    /// A frame whose decoding time is known.
    struct Ordered: Sendable {
        let frame: Frame
        let decodingTime: Int64
        let presentationTime: Int64
    }

    /// The largest number of frames that a decoder may reorder (ITU-T H.264, section A.3.1; ITU-T H.265, section A.4.2).
    static var maximumDepth: Int { 16 }

    /// The number of later frames that are awaited.
    var depth: Int { max(stated, found) }

    /// The number that the headers of the last key frame state.
    private var stated = 0
    /// The number that frames have shown, when headers state none or a lower one.
    private var found = 0
    private var waiting: [(frame: Frame, presentationTime: Int64)] = []
    /// The presentation times that are not decoding times yet, in order.
    private var times: [Int64] = []
    /// The presentation times of the last frames that were returned, in their order.
    private var former: [Int64] = []
    /// The last decoding time; nil before the first.
    private var last: Int64?

    init() {}

    /// Whether frames wait for others.
    var isWaiting: Bool { !waiting.isEmpty }

    /// Sets the number of later frames that the headers of a key frame state. Frames that waited because of a higher number
    /// are returned with the next one.
    mutating func setStatedDepth(_ depth: Int) { stated = min(max(0, depth), Self.maximumDepth) }

    /// Forgets what the frames of a former publisher have shown.
    mutating func restart() { (stated, found) = (0, 0) }

    /// Returns whether a frame can be placed. If it would have to be decoded before frames that were returned, because the
    /// encoder reorders more frames than the headers state, that number of frames is awaited from the next key frame on.
    mutating func accepts(_ presentationTime: Int64) -> Bool {
        guard let last, presentationTime <= last else { return !times.contains(presentationTime) }
        let needed = waiting.count + former.count { $0 > presentationTime }
        found = min(max(found, needed), Self.maximumDepth)
        return false
    }

    /// Adds a frame that ``accepts(_:)`` has accepted. Returns the frames whose decoding times are known now.
    mutating func append(_ frame: Frame, at presentationTime: Int64) -> [Ordered] {
        waiting.append((frame, presentationTime))
        times.insert(presentationTime, at: times.firstIndex { $0 > presentationTime } ?? times.endIndex)
        var ordered: [Ordered] = []
        while waiting.count > depth { ordered.append(takeFirst()) }
        return ordered
    }

    /// Returns the frames that wait, when no other frame can be between them: at the end, and before the key frame that
    /// follows a loss.
    mutating func flush() -> [Ordered] {
        var ordered: [Ordered] = []
        while !waiting.isEmpty { ordered.append(takeFirst()) }
        return ordered
    }

    private mutating func takeFirst() -> Ordered {
        let first = waiting.removeFirst()
        let time = times.removeFirst()
        last = time
        former.append(first.presentationTime)
        if former.count > Self.maximumDepth { former.removeFirst() }
        return Ordered(frame: first.frame, decodingTime: time, presentationTime: first.presentationTime)
    }
}
