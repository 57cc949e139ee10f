/// The properties of an audio track by which viewers choose it.
package struct AudioTrackDescription: Hashable, Sendable {
    /// The language; nil if unknown.
    package var language: LanguageTag?
    /// Whether a speaker describes the video, for people who do not see it.
    package var describesVideo: Bool

    /// Creates a description.
    package init(language: LanguageTag? = nil, describesVideo: Bool = false) {
        self.language = language
        self.describesVideo = describesVideo
    }

    /// Returns the labels of the tracks of a stream for users, which are different. The label is nil for a single track
    /// without a language.
    package static func labels(of tracks: [AudioTrackDescription]) -> [String?] {
        if tracks.count == 1, tracks[0].language == nil { return [nil] }
        var labels: [String] = []
        for (index, track) in tracks.enumerated() {
            let name = track.language?.name ?? "Audio \(index + 1)"
            var (label, number) = (name, 1)
            while labels.contains(label) {
                number += 1
                label = "\(name) \(number)"
            }
            labels.append(label)
        }
        return labels
    }
}
