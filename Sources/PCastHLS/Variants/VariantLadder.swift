public import PCastMedia

/// The variants that a player may play, the least first.
public struct VariantLadder: Hashable, Sendable {
    public struct Rung: Hashable, Sendable {
        /// The same at each address: what one does not answer, the next may (RFC 8216, section 6.3.4).
        public var mirrors: [VariantStream]

        public var variant: VariantStream { mirrors[0] }

        /// What its worst segments take.
        public var peak: Bitrate { variant.bandwidth }

        /// What it takes as a whole.
        public var average: Bitrate { variant.averageBandwidth ?? variant.bandwidth }
    }

    public let rungs: [Rung]

    /// - Parameters:
    ///   - playlist: The variants. Where each has a score, scores order them; else the bandwidth does.
    ///   - isPlayable: Whether the machine can decode a variant, and may show it.
    public init(_ playlist: MultivariantPlaylist, where isPlayable: (VariantStream) -> Bool = { _ in true }) {
        var playable = playlist.variants.filter(isPlayable)
        // Sound alone is no lower quality of a picture.
        let withPictures = playable.filter { !$0.isSoundAlone }
        if !withPictures.isEmpty { playable = withPictures }
        var rungs: [Rung] = []
        var indices: [VariantStream: Int] = [:]
        for variant in playable {
            var quality = variant
            (quality.uri, quality.pathwayID, quality.stableID) = ("", nil, nil)
            if let index = indices[quality] {
                rungs[index].mirrors.append(variant)
            } else {
                indices[quality] = rungs.count
                rungs.append(Rung(mirrors: [variant]))
            }
        }
        let isScored = !rungs.isEmpty && rungs.allSatisfy { $0.variant.score != nil }
        self.rungs = rungs.enumerated().sorted { left, right in
            let (first, second) = (left.element.variant, right.element.variant)
            if isScored, first.score != second.score { return first.score ?? 0 < second.score ?? 0 }
            if first.bandwidth != second.bandwidth { return first.bandwidth < second.bandwidth }
            // What stands first is preferred.
            return left.offset > right.offset
        }.map(\.element)
    }
}

extension VariantStream {
    /// Its codecs are all of sound (RFC 6381 names), and it has no size.
    var isSoundAlone: Bool {
        resolution == nil && !codecs.isEmpty
            && codecs.allSatisfy { codec in
                ["mp4a", "ac-3", "ec-3", "ac-4", "Opus", "opus", "fLaC", "alac", "mp3"].contains {
                    codec.hasPrefix($0)
                }
            }
    }
}
