import PCastHLS
import PCastMedia
import Testing

/// A media playlist of these lines.
func media(
    _ lines: String, from uri: String = "https://example.com/a/b.m3u8",
    importing variables: [PlaylistVariable] = [],
    updating earlier: MediaPlaylist? = nil
) throws -> MediaPlaylist {
    try MediaPlaylist("#EXTM3U\n" + lines, from: uri, importing: variables, updating: earlier)
}

func multivariant(_ lines: String, from uri: String = "https://example.com/a/b.m3u8") throws
    -> MultivariantPlaylist
{
    try MultivariantPlaylist("#EXTM3U\n" + lines, from: uri)
}

func seconds(_ seconds: Double) -> TimeSpan { TimeSpan(seconds: seconds) }

/// Seconds since 2026-01-01T00:00:00Z.
func wall(_ seconds: Double) -> WallTime {
    WallTime(millisecondsSinceEpoch: 1_767_225_600_000) + TimeSpan(seconds: seconds)
}

/// A seeded generator (SplitMix64), so that a test's chance is the same each time.
struct SplitMixGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
