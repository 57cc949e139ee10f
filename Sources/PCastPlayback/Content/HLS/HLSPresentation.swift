internal import PCastCore
internal import PCastHLS

/// The supported part of a multivariant playlist: variants, audio and subtitle renditions, with absolute addresses.
struct HLSPresentation: Sendable {
    /// The variants of the video.
    var variants: RenditionVariants
    /// The audio renditions, with their own playlists or within the segments of the variants.
    var audioRenditions: [PCastHLS.Rendition] = []
    var subtitles: [PCastHLS.Rendition] = []
    /// The addresses of each audio rendition: first those of the same rendition in the groups of all variants, and then,
    /// as further variants, those of the other renditions of its group.
    var audioVariants: [RenditionVariants] = []
    /// The addresses of each subtitle rendition: those of the same rendition in the groups of all variants.
    var subtitleVariants: [RenditionVariants] = []
    /// The preferred start position; nil for none.
    var start: StartPoint?
    /// The steering server; nil if the playlist has none.
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
        variants.pathways = mirrors.map { $0.map { Self.pathway(of: $0) } }
        variants.stableIDs = mirrors.map { $0.map(\.stableID) }
        // With one pathway, the server can clone it.
        if let contentSteering = playlist.contentSteering {
            steering = Steering(
                server: resolved(contentSteering.serverURI), initial: contentSteering.pathwayID,
                pathways: variants.pathways.flatMap(\.self))
        }
        let first = ladder.rungs[0].variant
        func renditions(_ kind: PCastHLS.Rendition.Kind, _ group: String?) -> [PCastHLS.Rendition] {
            playlist.renditions(kind, in: group).map { rendition in
                var rendition = rendition
                rendition.uri = rendition.uri.map(resolved)
                return rendition
            }
        }
        let all = ladder.rungs.flatMap(\.mirrors)
        /// Returns the addresses of a rendition in the groups of all variants.
        func addresses(
            of rendition: PCastHLS.Rendition, _ kind: PCastHLS.Rendition.Kind, _ group: (VariantStream) -> String?
        ) -> RenditionVariants {
            var own = RenditionVariants(uris: [[]], variables: playlist.variables, choice: nil)
            (own.kind, own.pathways, own.stableIDs) = (.rendition, [[]], [[]])
            own.add(rendition, of: Self.pathway(of: first))
            for variant in all {
                for other in renditions(kind, group(variant))
                where other.name == rendition.name && other.language == rendition.language {
                    own.add(other, of: Self.pathway(of: variant))
                }
            }
            return own
        }
        audioRenditions = renditions(.audio, first.audio)
        audioVariants = audioRenditions.map { audio in
            var own = addresses(of: audio, .audio, \.audio)
            for uri in audioRenditions.compactMap(\.uri) where !own.uris[0].contains(uri) {
                own.uris.append([uri])
                own.pathways.append([RenditionVariants.noPathway])
                own.stableIDs.append([nil])
            }
            return own
        }
        subtitles = renditions(.subtitles, first.subtitles).filter { $0.uri != nil }
        subtitleVariants = subtitles.map { addresses(of: $0, .subtitles, \.subtitles) }
        start = playlist.start
    }

    /// Returns the pathway of a variant.
    private static func pathway(of variant: VariantStream) -> String { variant.pathwayID ?? PathwaySteering.unnamed }

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
    /// The pathway of each address; empty if the playlist has no variants. An address that several pathways use appears
    /// with each one.
    var pathways: [[String]] = []
    /// The stable ID of the variant or rendition at each address, as in `pathways`.
    var stableIDs: [[String?]] = []
    /// The kind of the playlists.
    var kind = PathwayClone.Kind.variant
    var variables: [PlaylistVariable]
    /// The selection of a variant; nil if there is only one.
    var choice: VariantChoice?

    /// The pathway of addresses that belong to none.
    static let noPathway = ""

    init(uris: [[String]], variables: [PlaylistVariable], choice: VariantChoice?) {
        (self.uris, self.variables, self.choice) = (uris, variables, choice)
    }

    /// Adds the address of a rendition to the first variant, unless it is known for the pathway.
    mutating func add(_ rendition: PCastHLS.Rendition, of pathway: String) {
        guard let uri = rendition.uri, !zip(uris[0], pathways[0]).contains(where: { $0 == (uri, pathway) }) else {
            return
        }
        uris[0].append(uri)
        pathways[0].append(pathway)
        stableIDs[0].append(rendition.stableID)
    }

    /// Returns the variants with the addresses of cloned pathways.
    func adding(_ clones: [PathwayClone]) -> RenditionVariants {
        guard !clones.isEmpty, !pathways.isEmpty else { return self }
        var result = self
        for clone in clones {
            for rung in result.uris.indices {
                for index in result.uris[rung].indices where result.pathways[rung][index] == clone.base {
                    let stableID = result.stableIDs[rung][index]
                    result.uris[rung].append(
                        clone.uri(for: result.uris[rung][index], kind, stableID: stableID))
                    result.pathways[rung].append(clone.id)
                    result.stableIDs[rung].append(stableID)
                }
            }
        }
        return result
    }

    /// Returns the different addresses of a variant, ordered by the order of their pathways.
    func uris(of rung: Int, in order: [String]) -> [String] {
        guard pathways.indices.contains(rung) else { return uris[rung] }
        let ranked = zip(uris[rung], pathways[rung]).enumerated().map { index, pair in
            (uri: pair.0, rank: order.firstIndex(of: pair.1) ?? order.count, index: index)
        }
        return ranked.sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }.reduce(into: []) { uris, address in
            if !uris.contains(address.uri) { uris.append(address.uri) }
        }
    }

    /// Returns the only pathway of an address; nil if it is unknown or belongs to none, or if several pathways use it.
    func pathway(of uri: String) -> String? {
        for (uris, pathways) in zip(uris, pathways) {
            let own = zip(uris, pathways).filter { $0.0 == uri }.map(\.1)
            guard let first = own.first else { continue }
            return first != Self.noPathway && own.allSatisfy { $0 == first } ? first : nil
        }
        return nil
    }
}
