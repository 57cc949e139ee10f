import PCastCore

/// Withholds frames that cannot be decoded: after a lost frame, everything up to the next key frame. Decoding them
/// would show damaged images. It reads no clock; the caller passes the time.
struct KeyFrameGate {
    /// The interval of key-frame requests. A request may be lost, but one per frame would be too many.
    private static let requestInterval = TimeSpan.milliseconds(300)

    private var isWaiting = true
    private var lastRequest: Instant?

    /// Returns whether a frame can be decoded.
    mutating func admits(_ frame: EncodedFrame) -> Bool {
        if frame.isKeyFrame {
            isWaiting = false
            lastRequest = nil
        }
        return !isWaiting
    }

    /// Closes the gate after a frame was lost or could not be decoded, because later frames refer to it.
    mutating func close() { isWaiting = true }

    /// Returns whether to request a key frame now.
    mutating func asks(at now: Instant) -> Bool {
        guard isWaiting, lastRequest.map({ now - $0 >= Self.requestInterval }) ?? true else { return false }
        lastRequest = now
        return true
    }
}
