/// What a player does, as its observers see it (VideoKit's `PlayerState`).
public enum PlayerState: Hashable, Sendable {
    /// There is nothing to play: nothing was set, or it failed.
    case idle
    case paused(buffering: Bool)
    /// It was asked to play, and while it buffers it does not.
    case playing(buffering: Bool)

    public var hasContent: Bool { self != .idle }

    /// Pictures move.
    public var isPlaying: Bool { self == .playing(buffering: false) }

    public var isBuffering: Bool {
        switch self {
        case .idle: false
        case .paused(let buffering), .playing(let buffering): buffering
        }
    }
}
