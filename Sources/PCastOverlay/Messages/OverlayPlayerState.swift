/// The state of a player as an overlay sees it. The raw values are the strings in messages (player states of the Ease
/// Live SDK).
public enum OverlayPlayerState: String, Hashable, Sendable, CaseIterable {
    case playing
    case paused
    case seeking
    case stopped
    case buffering
}
