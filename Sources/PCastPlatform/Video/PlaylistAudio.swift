import Hummingbird
import PCastHLS

/// The codec of the audio that a multivariant playlist lists.
///
/// It lists one, because some players change between variants without regard to the codec: the one of Chromium fails then.
enum PlaylistAudio: String, Sendable {
    /// AAC, which all players have. The audio of a live stream is transcoded while clients request it.
    case aac
    /// Opus, as it is published.
    case opus

    /// The parameter `audio` of a request; AAC if it is missing.
    ///
    /// - Throws: ``APIError`` for another value.
    init(of request: Request) throws(APIError) {
        guard let name = request.uri.queryParameters["audio"] else {
            self = .aac
            return
        }
        guard let codec = PlaylistAudio(rawValue: String(name)) else {
            throw APIError(.badRequest, "The parameter audio must be aac or opus.")
        }
        self = codec
    }
}

extension MultivariantPlaylist {
    /// Removes the audio of other codecs. If the codec is missing, another one remains.
    mutating func limitAudio(to codec: PlaylistAudio) {
        let groups = renditions.filter { $0.kind == .audio }.map(\.group)
        let group = groups.first { $0 == codec.rawValue } ?? groups.first
        renditions.removeAll { $0.kind == .audio && $0.group != group }
        variants.removeAll { $0.audio != nil && $0.audio != group }
    }
}
