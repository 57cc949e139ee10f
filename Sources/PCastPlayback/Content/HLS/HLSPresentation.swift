internal import PCastCore
internal import PCastHLS

/// The supported part of a multivariant playlist: variants, audio and subtitle renditions, with absolute addresses.
struct HLSPresentation: Sendable {
    /// The variants of the video.
    var variants: RenditionVariants
    /// The audio renditions, with their own playlists or within the segments of the variants.
    var audioRenditions: [PCastHLS.Rendition] = []
    var subtitles: [PCastHLS.Rendition] = []
    /// The alternative addresses of each audio rendition in descending order of preference. They are the addresses of
    /// the rendition, of the same rendition in other groups, and of the other renditions of its group.
    var audioAddresses: [[[String]]] = []
    /// The preferred start position; nil for none.
    var start: StartPoint?
    /// The steering server; nil if there is only one pathway.
    var steering: Steering?

    /// A content steering server (RFC 8216bis, section 7).
    struct Steering: Sendable {
        /// The absolute address of the steering manifest.
        var server: String
        var initial: String?
        var pathways: [String]
    }

    /// The prefixes of supported codecs (RFC 6381).
    private static let codecs = [
        "avc1", "avc3", "hvc1", "hev1", "vp08", "vp09", "vp8", "vp9", "av01", "mp4v", "mp4a", "ac-3", "ec-3", "opus",
        "flac", "mp3", "alac", "stpp", "wvtt", "m2ts", "theo", "vorb",
    ]

    /// Creates a presentation from a single media playlist.
    init(mediaPlaylistAt uri: String) {
        variants = RenditionVariants(uris: [[uri]], variables: [], choice: nil)
    }

    /// Creates a presentation from a multivariant playlist; nil if no variant can be decoded.
    init?(_ playlist: MultivariantPlaylist, base: URIReference, configuration: VariantChoice.Configuration) {
        let ladder = VariantLadder(playlist) { variant in
            variant.codecs.allSatisfy { codec in Self.codecs.contains { codec.lowercased().hasPrefix($0) } }
        }
        guard !ladder.rungs.isEmpty else { return nil }
        func resolved(_ uri: String) -> String { base.address(of: uri) }
        let preferred = playlist.contentSteering?.pathwayID
        let mirrors = ladder.rungs.map { rung in
            // The initial pathway comes first (RFC 8216bis, section 7.3).
            rung.mirrors.filter { $0.pathwayID == preferred } + rung.mirrors.filter { $0.pathwayID != preferred }
        }
        let uris = mirrors.map { $0.map { resolved($0.uri) } }
        let choice = uris.count > 1 ? VariantChoice(ladder, configuration: configuration) : nil
        variants = RenditionVariants(uris: uris, variables: playlist.variables, choice: choice)
        variants.pathways = mirrors.map { $0.map { $0.pathwayID ?? PathwaySteering.unnamed } }
        let pathways = variants.pathways.flatMap(\.self)
        if let contentSteering = playlist.contentSteering, Set(pathways).count > 1 {
            steering = Steering(
                server: resolved(contentSteering.serverURI), initial: contentSteering.pathwayID, pathways: pathways)
        }
        let first = ladder.rungs[0].variant
        func renditions(_ kind: PCastHLS.Rendition.Kind, _ group: String?) -> [PCastHLS.Rendition] {
            playlist.renditions(kind, in: group).map { rendition in
                var rendition = rendition
                rendition.uri = rendition.uri.map(resolved)
                return rendition
            }
        }
        audioRenditions = renditions(.audio, first.audio)
        let everywhere = ladder.rungs.flatMap { $0.mirrors.compactMap(\.audio) }.reduce(into: [String]()) {
            groups, group in
            if !groups.contains(group) { groups.append(group) }
        }.flatMap { renditions(.audio, $0) }
        audioAddresses = audioRenditions.map { audio in
            let same = everywhere.filter { $0.name == audio.name && $0.language == audio.language }
            let own = ([audio] + same).compactMap(\.uri).reduce(into: [String]()) { uris, uri in
                if !uris.contains(uri) { uris.append(uri) }
            }
            return [own] + audioRenditions.compactMap(\.uri).filter { !own.contains($0) }.map { [$0] }
        }
        subtitles = renditions(.subtitles, first.subtitles).filter { $0.uri != nil }
        start = playlist.start
    }

    /// The index of the audio rendition to play by default; nil if there is none.
    var defaultAudio: Int? {
        audioRenditions.firstIndex { $0.isDefault } ?? audioRenditions.firstIndex { $0.isAutoselect }
            ?? audioRenditions.indices.first
    }
}

/// The variants of a rendition in ascending order of quality. Each has one or more alternative addresses.
struct RenditionVariants: Sendable {
    /// The addresses of each variant.
    var uris: [[String]]
    /// The pathway of each address; empty if there is only one pathway.
    var pathways: [[String]] = []
    var variables: [PlaylistVariable]
    /// The selection of a variant; nil if there is only one.
    var choice: VariantChoice?

    /// Returns the addresses of a variant, ordered by the order of their pathways.
    func uris(of rung: Int, in order: [String]) -> [String] {
        guard pathways.indices.contains(rung) else { return uris[rung] }
        let ranked = zip(uris[rung], pathways[rung]).enumerated().map { index, pair in
            (uri: pair.0, rank: order.firstIndex(of: pair.1) ?? order.count, index: index)
        }
        return ranked.sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }.map(\.uri)
    }

    /// Returns the pathway of an address; nil if it is unknown.
    func pathway(of uri: String) -> String? {
        for (uris, pathways) in zip(uris, pathways) {
            if let index = uris.firstIndex(of: uri) { return pathways[index] }
        }
        return nil
    }
}
