/// An HLS playlist: a multivariant playlist or a media playlist (RFC 8216, section 4).
package enum HLSPlaylist: Hashable, Sendable {
    /// A list of variant streams and renditions (RFC 8216, section 4.3.4).
    case multivariant(MultivariantPlaylist)
    /// A list of media segments (RFC 8216, section 4.3.3).
    case media(MediaPlaylist)

    /// Parses a playlist and detects its kind.
    ///
    /// - Parameters:
    ///   - bytes: The body of the HTTP response, in UTF-8.
    ///   - uri: The URI of the playlist after redirects. `EXT-X-DEFINE:QUERYPARAM` reads its query.
    ///   - variables: The variables of the multivariant playlist that refers to this one (`EXT-X-DEFINE:IMPORT`).
    ///   - earlier: The last version of the media playlist, to which a delta update is applied; nil if there is none.
    /// - Throws: ``PlaylistError`` if the bytes are not a playlist or exceed one of the ``PlaylistLimits``.
    package init(
        _ bytes: [UInt8], from uri: String = "", importing variables: [PlaylistVariable] = [],
        updating earlier: MediaPlaylist? = nil
    ) throws(PlaylistError) {
        guard bytes.count <= PlaylistLimits.textSize else { throw .tooLarge }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        if try Self.isMultivariant(text) {
            self = .multivariant(try MultivariantPlaylist(text, from: uri))
        } else {
            self = .media(try MediaPlaylist(text, from: uri, importing: variables, updating: earlier))
        }
    }

    /// Returns whether the playlist is a multivariant one, which the first tag that only one of the kinds has decides.
    private static func isMultivariant(_ text: String) throws(PlaylistError) -> Bool {
        var lines = try PlaylistLines(text)
        while let line = try lines.next() {
            guard case .tag(let tag, _) = line else { continue }
            switch tag.allowedPlaylist {
            case .anywhere: continue
            case .media: return false
            case .multivariant: return true
            }
        }
        return false
    }

    /// The playlist as text, with its lines ended by a line feed.
    package var text: String {
        switch self {
        case .multivariant(let playlist): playlist.text
        case .media(let playlist): playlist.text
        }
    }
}
