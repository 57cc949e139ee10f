import PCastMedia

/// What a publisher or a viewer asks for who was here before.
enum StreamReturn: Hashable, Sendable {
    /// To go on with this stream, or this viewing.
    case stream(StreamID)
    /// To go on with the stream that was published before with the same token, or with tokens that apply the same tags,
    /// where its publisher is gone; else to begin a new one.
    case former

    /// Options of `CreateStream.options`; see docs/SESSIONS.md.
    private static let resume = "resume-stream="
    private static let takeOver = "take-over"

    /// - Parameter options: of `CreateStream`.
    /// - Returns: nil when none of them asks for it.
    init?(options: [String]) {
        for option in options {
            if option == Self.takeOver {
                self = .former
                return
            }
            guard option.hasPrefix(Self.resume) else { continue }
            self = .stream(StreamID(String(option.dropFirst(Self.resume.count))))
            return
        }
        return nil
    }
}
