import CFFmpeg

/// The reason why a file or an address cannot be read.
package enum SeekableFailure: Error, Hashable, Sendable {
    /// There is no answer, or none before the timeout.
    case unreachable(reason: String)
    /// The server answered with an HTTP status, or with one of its class (e.g., 400 for 4xx).
    case refused(status: Int)
    /// The content cannot be decoded.
    case notPlayable(reason: String)
    /// The source broke off.
    case brokeOff(reason: String)
    /// The wait was ended by ``SeekableReader/interrupt()``.
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

    /// Returns whether an FFmpeg error concerns the content and not the connection.
    private static func isAboutContent(_ number: Int32) -> Bool {
        [
            cffmpeg_error_invalid_data(), cffmpeg_error_end_of_file(), cffmpeg_error_patchwelcome(),
            cffmpeg_error_not_allowed(),
        ].contains(number)
    }
}
