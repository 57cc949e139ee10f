package import PCastCore

/// The playable variants of a presentation, the lowest quality first.
package struct VariantLadder: Hashable, Sendable {
    /// A quality level.
    package struct Rung: Hashable, Sendable {
        /// The variants of the same quality at different URIs. If one fails, the next is tried (RFC 8216, section
        /// 6.3.4).
        package var mirrors: [VariantStream]

        /// The preferred variant of this quality.
        package var variant: VariantStream { mirrors[0] }

        /// The peak segment bit rate.
        package var peak: Bitrate { variant.bandwidth }

        /// The average segment bit rate, or the peak if the playlist does not specify it.
        package var average: Bitrate { variant.averageBandwidth ?? variant.bandwidth }
    }

    /// The quality levels, the lowest first.
    package let rungs: [Rung]

    /// Creates a ladder, which is ordered by the scores if each variant has one, and by bandwidth otherwise.
    ///
    /// - Parameters:
    ///   - playlist: The multivariant playlist.
    ///   - isPlayable: Returns whether the player can decode and may show a variant.
    package init(_ playlist: MultivariantPlaylist, where isPlayable: (VariantStream) -> Bool = { _ in true }) {
        var playable = playlist.variants.filter(isPlayable)
        // Audio-only variants are left out if others have video, because audio alone is not a lower quality of video.
        let withVideo = playable.filter { !$0.isAudioOnly }
        if !withVideo.isEmpty { playable = withVideo }
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
            // The variant that comes first in the playlist is preferred.
            return left.offset > right.offset
        }.map(\.element)
    }
}

extension VariantStream {
    /// Whether the variant has only audio codecs (names of RFC 6381) and no resolution.
    var isAudioOnly: Bool {
        resolution == nil && !codecs.isEmpty
            && codecs.allSatisfy { codec in
                ["mp4a", "ac-3", "ec-3", "ac-4", "Opus", "opus", "fLaC", "alac", "mp3"].contains {
                    codec.hasPrefix($0)
                }
            }
    }
}
