/// A playlist of either kind.
public enum Playlist: Hashable, Sendable {
    case multivariant(MultivariantPlaylist)
    case media(MediaPlaylist)

    /// Reads what an address answered, whichever of the two it is.
    ///
    /// - Parameters:
    ///   - bytes: The body, as UTF-8.
    ///   - uri: Where it came from, after redirections.
    ///   - variables: Those of the multivariant playlist that led here.
    ///   - earlier: What a media playlist that skips segments is added to.
    public init(
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

    /// By the first tag that only one of the two kinds has.
    private static func isMultivariant(_ text: String) throws(PlaylistError) -> Bool {
        var lines = try PlaylistLines(text)
        while let line = try lines.next() {
            guard case .tag(let tag, _) = line else { continue }
            switch tag.place {
            case .anywhere: continue
            case .media: return false
            case .multivariant: return true
            }
        }
        return false
    }

    /// The playlist as text.
    public var text: String {
        switch self {
        case .multivariant(let playlist): playlist.text
        case .media(let playlist): playlist.text
        }
    }
}
