/// The state of a player as its observers receive it (VideoKit's `PlayerState`).
public enum PlayerState: Hashable, Sendable {
    /// The player has no content, or its content failed.
    case idle
    /// The player is paused.
    case paused(buffering: Bool)
    /// The player is set to play. While it buffers, the position does not advance.
    case playing(buffering: Bool)

    /// Whether the player has content that has not failed.
    public var hasContent: Bool { self != .idle }

    /// Whether frames advance.
    public var isPlaying: Bool { self == .playing(buffering: false) }

    /// Whether there is no frame to display.
    public var isBuffering: Bool {
        switch self {
        case .idle: false
        case .paused(let buffering), .playing(let buffering): buffering
        }
    }
}
