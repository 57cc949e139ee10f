import PCastCore
import PCastHLS
import Testing

/// Returns a media playlist of these lines.
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

/// Returns the time this many seconds after 2026-01-01T00:00:00Z.
func wall(_ seconds: Double) -> WallTime {
    WallTime(millisecondsSinceEpoch: 1_767_225_600_000) + TimeSpan(seconds: seconds)
}
