import PCastCore

/// A request of a publisher or subscriber to resume a stream or viewing.
enum ResumeRequest: Hashable, Sendable {
    /// Resumes this stream or viewing.
    case stream(StreamID)
    /// Resumes the stream that was published with the same token, or with tokens that apply the same tags, if its
    /// publisher is disconnected. Otherwise it begins a new one.
    case former

    /// The values in `CreateStream.options`; see docs/SESSIONS.md.
    private static let resume = "resume-stream="
    private static let resumeFormer = "resume"

    /// Parses the options of `CreateStream`; nil if there is no such request.
    init?(options: [String]) {
        for option in options {
            if option == Self.resumeFormer {
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
