import CFFmpeg

/// Why a file or an address cannot be read, or not further.
public enum SeekableFailure: Error, Hashable, Sendable {
    /// Nothing answers, or not in time.
    case unreachable(reason: String)
    /// With a status of HTTP, or the first of its class.
    case refused(status: Int)
    /// It is none that can be decoded.
    case notPlayable(reason: String)
    case brokeOff(reason: String)
    /// Somebody asked for the wait to end.
    case interrupted

    init(opening failure: MediaInputFailure) {
        let status = Int(cffmpeg_http_status(failure.number))
        if status > 0 {
            self = .refused(status: status)
        } else if Self.isAboutContent(failure.number) {
            self = .notPlayable(reason: failure.reason)
        } else {
            self = .unreachable(reason: failure.reason)
        }
    }

    /// What libavformat says of bytes, not of where they come from.
    private static func isAboutContent(_ number: Int32) -> Bool {
        [
            cffmpeg_error_invalid_data(), cffmpeg_error_end_of_file(), cffmpeg_error_patchwelcome(),
            cffmpeg_error_not_allowed(),
        ].contains(number)
    }
}
