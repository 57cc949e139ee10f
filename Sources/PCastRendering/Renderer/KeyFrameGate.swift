import PCastMedia

/// Keeps from the decoder what it cannot decode: everything between a hole and the next key frame (JB8). It is told
/// the time.
struct KeyFrameGate {
    /// A request may be lost, and one each frame would be a storm.
    private static let requestInterval = TimeSpan.milliseconds(300)

    private var isWaiting = true
    private var lastRequest: Instant?

    /// Whether a frame can be decoded.
    mutating func admits(_ frame: EncodedFrame) -> Bool {
        if frame.isKeyFrame {
            isWaiting = false
            lastRequest = nil
        }
        return !isWaiting
    }

    /// A frame was lost or could not be decoded: nothing after it can be.
    mutating func close() { isWaiting = true }

    /// Whether the publisher is to be asked now.
    mutating func asks(at now: Instant) -> Bool {
        guard isWaiting, lastRequest.map({ now - $0 >= Self.requestInterval }) ?? true else { return false }
        lastRequest = now
        return true
    }
}
