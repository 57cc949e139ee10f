public import PCastCore

/// Why something cannot be played, and what can be done about it.
public enum PlaybackError: Error, Hashable, Sendable {
    /// The address is none, or of a kind that is not played.
    case unsupportedAddress(String)
    /// Nothing answers there, or not in time; trying again later may help.
    case unreachable(String, reason: String)
    /// A platform gives no stream, for the reason that its status tells; nil where none answers.
    case noStream(String, status: RequestStatus?, reason: String)
    /// The server says no, with a status of HTTP.
    case refused(String, status: Int)
    /// What came is no playlist, or breaks its rules.
    case brokenPlaylist(String, reason: String)
    /// What came holds no pictures and no sound that can be decoded.
    case notPlayable(String, reason: String)
    /// It broke off in the middle.
    case brokeOff(String, reason: String)
    /// There is no such track.
    case noTrack(String)
    /// The item lies outside of what can be gone about in, or there is nothing to go about in.
    case notSeekable
    /// Another call took this one's place; not a failure.
    case interrupted
}

extension PlaybackError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unsupportedAddress(let address):
            "“\(address)” cannot be played: give a file, or an address of http, https or pcast"
        case .unreachable(let name, let reason): "“\(name)” cannot be reached: \(reason)"
        case .noStream(let name, _, let reason): "“\(name)” cannot be watched: \(reason)"
        case .refused(let name, let status): "the server refuses “\(name)” with status \(status)"
        case .brokenPlaylist(let name, let reason): "the playlist “\(name)” is broken: \(reason)"
        case .notPlayable(let name, let reason): "“\(name)” holds nothing that can be played: \(reason)"
        case .brokeOff(let name, let reason): "“\(name)” broke off: \(reason)"
        case .noTrack(let name): "there is no track “\(name)”: see the item's tracks"
        case .notSeekable: "the item cannot be gone about in"
        case .interrupted: "something else was asked for meanwhile"
        }
    }
}
