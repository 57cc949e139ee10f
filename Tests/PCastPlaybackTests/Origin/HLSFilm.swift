import PCastCore
import PCastHLS

/// A stamped film in segments, with the playlists that describe it.
struct HLSFilm {
    let film: StampedVideo
    let folder: TemporaryFolder
    /// The length of each segment.
    let segmentLength: TimeSpan
    let count: Int

    /// Creates a film in segments. `name` precedes the segments' numbers, and `options` are added to the encoder's.
    init(
        _ film: StampedVideo, segmentSeconds: Int, in folder: TemporaryFolder, name: String = "s",
        fragmented: Bool = false, tone: Int = 440, options: String = ""
    ) throws {
        (self.film, self.folder) = (film, folder)
        segmentLength = .seconds(Int64(segmentSeconds))
        count = film.seconds / segmentSeconds
        let group = film.rate * segmentSeconds
        let kind = fragmented ? "fmp4 -hls_fmp4_init_filename \(name)-init.mp4" : "mpegts"
        let ending = fragmented ? "m4s" : "ts"
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder, tone: tone)) -c:v libx264 -preset ultrafast -bf 2 -g \(group) "
                + "-keyint_min \(group) -sc_threshold 0 -c:a aac -shortest \(options) -f hls -hls_time \(segmentSeconds) "
                + "-hls_list_size 0 -hls_segment_type \(kind) -hls_segment_filename \(name)%d.\(ending) \(name).m3u8",
            in: folder.path)
    }

    /// Returns a playlist of some of its MPEG-TS segments.
    func playlist(
        _ numbers: Range<Int>, isComplete: Bool = false, dates: Bool = true, more: String = "", name: String = "s"
    ) -> String {
        var text =
            "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:\(Int(segmentLength.seconds))\n"
            + "#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n" + more
        for number in numbers {
            if dates { text += "#EXT-X-PROGRAM-DATE-TIME:\(Self.date(captureTime(ofSegment: number)))\n" }
            text += "#EXTINF:\(segmentLength.seconds),\n\(name)\(number).ts\n"
        }
        return text + (isComplete ? "#EXT-X-ENDLIST\n" : "")
    }

    func captureTime(ofSegment number: Int) -> WallTime {
        StampedVideo.captureTime + TimeSpan(nanoseconds: segmentLength.nanoseconds * Int64(number))
    }

    static func date(_ time: WallTime) -> String {
        let seconds = time.millisecondsSinceEpoch / 1_000
        let (day, rest) = (seconds / 86_400, seconds % 86_400)
        // Converts days since 1970 to a date (Howard Hinnant, "chrono-compatible low-level date algorithms").
        let z = day + 719_468
        let era = z / 146_097
        let dayOfEra = z - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(year)-\(two(month))-\(two(dayOfYear - (153 * shifted + 2) / 5 + 1))T\(two(rest / 3_600)):"
            + "\(two(rest % 3_600 / 60)):\(two(rest % 60))Z"
    }
}
