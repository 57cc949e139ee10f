import PCastCore

@testable import PCastPlayback

/// A stamped film whose MPEG-TS streams contain timed ID3.
struct TaggedFilm {
    let film: StampedVideo
    let folder: TemporaryFolder
    let tags: [TransportTags.Tag]
    /// The values that are reported for the tags, in order.
    let values: [String]

    /// Creates tags at positions in seconds, in order. Each contains the time of its position, and the last one is
    /// long.
    init(_ film: StampedVideo, at positions: [Double], in folder: TemporaryFolder) {
        (self.film, self.folder) = (film, folder)
        values = positions.enumerated().map { index, seconds in
            let moment = StampedVideo.captureTime + TimeSpan(seconds: seconds)
            let more = index == positions.count - 1 ? String(repeating: " ", count: 300) : ""
            return "{\"ut\":\(moment.millisecondsSinceEpoch),\"n\":\(index)\(more)}"
        }
        tags = zip(positions, values).enumerated().map { index, tag in
            // Both versions of ID3 are in use.
            TransportTags.Tag(
                position: TimeSpan(seconds: tag.0), bytes: TimedTags.tag("", tag.1, version: index % 2 == 0 ? 4 : 3))
        }
    }

    /// Creates segments and `s.m3u8`, which lists them.
    func makeSegments(ofSeconds seconds: Int) throws {
        let hls = try HLSFilm(film, segmentSeconds: seconds, in: folder)
        try TransportTags.insert(tags, into: (0..<hls.count).map { "s\($0).ts" }, of: folder)
    }

    /// Creates the single file `film.ts`.
    func makeFile() throws {
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 2 -g 50 -c:a aac -shortest film.ts",
            in: folder.path)
        try TransportTags.insert(tags, into: ["film.ts"], of: folder)
    }
}
