public import PCastCore

/// A reason why content cannot be played.
public enum PlaybackError: Error, Hashable, Sendable {
    /// The address is empty, or it has an unsupported scheme or format.
    case unsupportedAddress(String)
    /// The server does not respond, or not before the timeout. A later retry may succeed.
    case unreachable(String, reason: String)
    /// A platform provides no stream. `status` is the status of its response; nil if there was no response.
    case noStream(String, status: RequestStatus?, reason: String)
    /// The server rejects the request with the HTTP status `status`.
    case refused(String, status: Int)
    /// The response is not a playlist, or the playlist violates the rules of HLS (RFC 8216).
    case brokenPlaylist(String, reason: String)
    /// The content has no audio or video that can be decoded.
    case notPlayable(String, reason: String)
    /// The connection broke, or the file ended, in the middle of the content.
    case brokeOff(String, reason: String)
    /// The content has no track with this ID.
    case noTrack(String)
    /// The content is not seekable, the position is outside the seekable range, or there is no content.
    case notSeekable
    /// Another call replaced this one. This is not a failure.
    case interrupted
}

extension PlaybackError: CustomStringConvertible {
    /// The reason and the name of the content, for people.
    public var description: String {
        switch self {
        case .unsupportedAddress(let address):
            "“\(address)” cannot be played: use a file, or a URI of http, https or pcast"
        case .unreachable(let name, let reason): "“\(name)” cannot be reached: \(reason)"
        case .noStream(let name, _, let reason): "“\(name)” cannot be subscribed to: \(reason)"
        case .refused(let name, let status): "the server rejects “\(name)” with status \(status)"
        case .brokenPlaylist(let name, let reason): "the playlist “\(name)” is malformed: \(reason)"
        case .notPlayable(let name, let reason): "“\(name)” contains no media that can be played: \(reason)"
        case .brokeOff(let name, let reason): "reading “\(name)” failed: \(reason)"
        case .noTrack(let name): "there is no track “\(name)”: use one of the item's tracks"
        case .notSeekable: "the item is not seekable"
        case .interrupted: "a later request replaced this one"
        }
    }
}
