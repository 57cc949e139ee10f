/// A stamped film in two variants, `low` and `high`, with the same segments. `main.m3u8` lists both.
struct LadderFilm {
    let film: StampedVideo
    private let folder: TemporaryFolder

    /// The video of the lower variant has 100 kbit/s, and that of the higher one 600, regardless of its content.
    init(_ film: StampedVideo, segmentSeconds: Int, fragmented: Bool = false) throws {
        self.film = film
        folder = try TemporaryFolder()
        for (name, rate) in [("low", 100), ("high", 600)] {
            _ = try HLSFilm(
                film, segmentSeconds: segmentSeconds, in: folder, name: name, fragmented: fragmented,
                options: "-b:v \(rate)k -minrate \(rate)k -maxrate \(rate)k -bufsize \(rate)k -x264-params nal-hrd=cbr")
        }
        try folder.write(
            """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=200000,CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=160x90
            low.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=690000,CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=320x180
            high.m3u8

            """, to: "main.m3u8")
    }

    /// Starts a server of the film. `change` modifies the answer to a request for `low0`, `low1` or `high`.
    func origin(
        _ change: @escaping @Sendable (_ name: Substring, _ answer: inout TestOrigin.Answer) -> Void
    ) throws -> TestOrigin {
        try TestOrigin { [folder] request in
            let path = request.path.dropFirst()
            guard let body = try? folder.read(String(path)) else { return nil }
            var answer = TestOrigin.Answer(body: body)
            change(path.prefix { $0 != "." }, &answer)
            return answer
        }
    }

    /// Returns the numbers of a variant's requested segments in order, after the first `count` requests.
    func asked(_ name: String, of origin: TestOrigin, after count: Int = 0) -> [Int] {
        origin.requests.dropFirst(count).compactMap { path in
            path.hasPrefix("/\(name)") ? Int(path.dropFirst(name.count + 1).prefix { $0 != "." }) : nil
        }
    }
}
