import PCastPackaging
import PCastSFU

/// The transcoders of the audio tracks of a stream. Only one thread may use it at a time.
struct StreamTranscoding: Sendable {
    private struct Track: Sendable {
        let number: Int
        let transcoder: AudioTranscoder
        var rendition = ""
        /// Whether nothing was transcoded yet.
        var isNew = true
    }

    /// The tracks by their numbers, of which there is at least one.
    private var tracks: [Track] = []

    /// Opens a transcoder for each audio track. It is nil if that of the first one cannot be opened, or there is no track.
    init?(_ numbers: [Int]) {
        for number in numbers {
            guard let transcoder = try? AudioTranscoder() else { break }
            tracks.append(Track(number: number, transcoder: transcoder))
        }
        if tracks.isEmpty { return nil }
    }

    /// The format of the AAC of all tracks.
    var format: AACFormat { tracks[0].transcoder.format }

    /// The numbers of the tracks.
    var numbers: [Int] { tracks.map(\.number) }

    /// Returns the transcoders for renditions with names, by the numbers of the tracks. Tracks without a name are left out.
    func named(_ names: [Int: String]) -> StreamTranscoding {
        var result = self
        result.tracks = tracks.compactMap { track in
            guard let name = names[track.number] else { return nil }
            var track = track
            track.rendition = name
            return track
        }
        return result
    }

    /// Transcodes the audio of units, for the renditions that the result names.
    ///
    /// A track begins with its recent units, because players start some segments before the end, at the same time in all
    /// renditions. To transcode them takes time, so one track begins at once. The units of the others remain recent.
    mutating func transcode(
        _ units: some Collection<PublishedUnit>, recent: (Int) -> [PublishedUnit]
    ) -> [(rendition: String, units: [AccessUnit])] {
        var results: [(rendition: String, units: [AccessUnit])] = []
        let next = tracks.firstIndex(where: \.isNew)
        for index in tracks.indices where !tracks[index].isNew || index == next {
            let number = tracks[index].number
            var audio = units.filter { $0.track == .audio(number) }
            if tracks[index].isNew { audio = recent(number) + audio }
            tracks[index].isNew = false
            guard !audio.isEmpty else { continue }
            let transcoder = tracks[index].transcoder
            results.append((tracks[index].rendition, audio.flatMap { transcoder.transcode($0) }))
        }
        return results
    }
}
