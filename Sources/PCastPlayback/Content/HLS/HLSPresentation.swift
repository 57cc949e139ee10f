internal import PCastCore
internal import PCastHLS

/// What a multivariant playlist offers, as far as it is played: qualities, languages and subtitles, with whole addresses.
struct HLSPresentation: Sendable {
    var variants: RenditionVariants
    /// Those with an address of their own, and those within the variants' segments.
    var sounds: [Rendition] = []
    var subtitles: [Rendition] = []
    /// Of each of the sounds the addresses that may be asked for it: its own and those of the same sound in other groups, and
    /// then, where none of these can be had, those of the other sounds of its group.
    var soundAddresses: [[[String]]] = []
    var start: StartPoint?
    /// Who says which pathway to take, where there are several.
    var steering: Steering?

    struct Steering: Sendable {
        /// A whole address.
        var server: String
        var initial: String?
        var pathways: [String]
    }

    /// RFC 6381 names of what is decoded here.
    private static let codecs = [
        "avc1", "avc3", "hvc1", "hev1", "vp08", "vp09", "vp8", "vp9", "av01", "mp4v", "mp4a", "ac-3", "ec-3", "opus",
        "flac", "mp3", "alac", "stpp", "wvtt", "m2ts", "theo", "vorb",
    ]

    /// One playlist alone.
    init(mediaPlaylistAt uri: String) {
        variants = RenditionVariants(uris: [[uri]], variables: [], choice: nil)
    }

    /// - Returns: nil where nothing of it can be played.
    init?(_ playlist: MultivariantPlaylist, base: URIReference, configuration: VariantChoice.Configuration) {
        let ladder = VariantLadder(playlist) { variant in
            variant.codecs.allSatisfy { codec in Self.codecs.contains { codec.lowercased().hasPrefix($0) } }
        }
        guard !ladder.rungs.isEmpty else { return nil }
        func resolved(_ uri: String) -> String { URIReference(uri).resolved(against: base).text }
        let preferred = playlist.contentSteering?.pathwayID
        let mirrors = ladder.rungs.map { rung in
            // Of equal ones those of the pathway first that the playlist begins with (RFC 8216bis, section 7.3).
            rung.mirrors.filter { $0.pathwayID == preferred } + rung.mirrors.filter { $0.pathwayID != preferred }
        }
        let uris = mirrors.map { $0.map { resolved($0.uri) } }
        let choice = uris.count > 1 ? VariantChoice(ladder, configuration: configuration) : nil
        variants = RenditionVariants(uris: uris, variables: playlist.variables, choice: choice)
        variants.pathways = mirrors.map { $0.map { $0.pathwayID ?? PathwaySteering.unnamed } }
        let pathways = variants.pathways.flatMap(\.self)
        if let told = playlist.contentSteering, Set(pathways).count > 1 {
            steering = Steering(server: resolved(told.serverURI), initial: told.pathwayID, pathways: pathways)
        }
        let first = ladder.rungs[0].variant
        func renditions(_ kind: Rendition.Kind, _ group: String?) -> [Rendition] {
            playlist.renditions(kind, in: group).map { rendition in
                var rendition = rendition
                rendition.uri = rendition.uri.map(resolved)
                return rendition
            }
        }
        sounds = renditions(.audio, first.audio)
        let everywhere = ladder.rungs.flatMap { $0.mirrors.compactMap(\.audio) }.reduce(into: [String]()) {
            groups, group in
            if !groups.contains(group) { groups.append(group) }
        }.flatMap { renditions(.audio, $0) }
        soundAddresses = sounds.map { sound in
            let same = everywhere.filter { $0.name == sound.name && $0.language == sound.language }
            let own = ([sound] + same).compactMap(\.uri).reduce(into: [String]()) { uris, uri in
                if !uris.contains(uri) { uris.append(uri) }
            }
            return [own] + sounds.compactMap(\.uri).filter { !own.contains($0) }.map { [$0] }
        }
        subtitles = renditions(.subtitles, first.subtitles).filter { $0.uri != nil }
        start = playlist.start
    }

    /// The one to be heard where nobody chooses.
    var usualSound: Int? {
        sounds.firstIndex { $0.isDefault } ?? sounds.firstIndex { $0.isAutoselect } ?? sounds.indices.first
    }
}
