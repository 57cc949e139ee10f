/// What a player does as an overlay sees it; the raw values stand on the wire (Ease Live's player states, seed 000).
public enum OverlayPlayerState: String, Hashable, Sendable, CaseIterable {
    case playing
    case paused
    case seeking
    case stopped
    case buffering
}
