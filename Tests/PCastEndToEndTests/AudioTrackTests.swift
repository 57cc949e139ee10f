import Foundation
import Testing

extension EndToEnd {
    /// A publisher that brings several audio tracks, and players that choose one.
    @Suite("Audio tracks", .timeLimit(.minutes(10)))
    struct AudioTrackTests {
        /// The frequencies of the beeps of the languages in hertz.
        private static let frequencies = ["en": 440, "de": 2_000]

        /// Makes a film with 320x180 at 30 frames per second, and a track with beeps for each of two languages. Each second
        /// begins with a white frame of 100 ms, and beeps of the same duration.
        private static func film(seconds: Int, in workspace: TestWorkspace) async throws -> MediaFile {
            let path = workspace.path("languages.mkv")
            func beeps(_ language: String) -> [String] {
                [
                    "-f", "lavfi", "-i",
                    "aevalsrc='0.5*sin(2*PI*\(frequencies[language] ?? 0)*t)*lt(mod(t,1),0.1)':s=48000",
                ]
            }
            try await workspace.run(
                "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                    "color=c=black:s=320x180:r=30,drawbox=w=iw:h=ih:c=white:t=fill:enable='lt(mod(n,30),3)'",
                ] + beeps("en") + beeps("de") + [
                    "-map", "0", "-map", "1", "-map", "2", "-t", "\(seconds)", "-c:v", "libx264", "-preset",
                    "ultrafast", "-bf", "0", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", path,
                ])
            return MediaFile(path: path, workspace: workspace)
        }

        @Test(
            "FFmpeg sends two languages by SRT, and finds both by HLS with their audio, in lip sync",
            .enabled(if: ThisMachine.hasFFmpeg))
        func languages() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Self.film(seconds: 10, in: workspace)
                let platform = try await LocalPlatform.start(in: workspace, ["--srt-port", "0"], limit: .longestSuite)
                let port = Int(try #require(try await platform.program.event("listening")["srtPort"].number))
                let key = try await workspace.token(
                    LocalPlatform.application, "--type", "publish", "--capability", "streaming")
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    [
                        "-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", film.path, "-map", "0", "-c:v",
                        "copy", "-c:a", "aac", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=ger",
                        "-f", "mpegts",
                        "srt://127.0.0.1:\(port)?pkt_size=1316&connect_timeout=60000&streamid=\(key)",
                    ], limit: .longestSuite)
                let stream = try await platform.stream()
                let token = try await platform.viewingToken(stream)
                let query = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                let playlist = "\(platform.uri)/video/\(stream)/index.m3u8?token=\(query)"
                // The first list may have only the tracks of which AAC has begun in time.
                let text = workspace.path("index.m3u8")
                var languages: [String: String] = [:]
                let end = ContinuousClock.now + .seconds(120)
                while true {
                    try await workspace.run(
                        "curl",
                        ["-sSf", "--retry", "90", "--retry-delay", "1", "--retry-all-errors", "-o", text, playlist])
                    languages = Self.languages(in: try String(contentsOfFile: text, encoding: .utf8))
                    guard languages.count < 2, ContinuousClock.now < end else { break }
                    try await ContinuousClock().sleep(for: .milliseconds(200))
                }
                #expect(languages == ["en": "English", "de": "Deutsch"])

                for (language, frequency) in Self.frequencies {
                    let record = workspace.path("\(language).mkv")
                    try await workspace.run(
                        "ffmpeg",
                        [
                            "-v", "error", "-nostdin", "-i", playlist, "-map", "0:v:0", "-map",
                            "0:m:language:\(language)", "-t", "6", "-c:v", "copy", "-c:a", "pcm_s16le", record,
                        ], limit: .longestSuite)
                    let file = MediaFile(path: record, workspace: workspace)
                    let own = try await file.loudness(near: frequency)
                    for (_, other) in Self.frequencies where other != frequency {
                        let rest = try await file.loudness(near: other)
                        #expect(own > rest + 15, "\(language): \(own) dB at \(frequency) Hz, \(rest) dB at \(other) Hz")
                    }
                    let distances = try await file.beepsAfterFlashes().sorted()
                    try #require(distances.count >= 3)
                    let median = distances[distances.count / 2]
                    print("\(language): the audio is \(median) s behind the video")
                    #expect(abs(median) < (ThisMachine.isFull ? 0.08 : 0.4), "\(language)")
                }
                // This project's player changes to the track.
                let player = try workspace.pcast("play", playlist, "--render", "null", "--audio-language", "de-AT")
                #expect(try await player.event("audioTrack")["name"].text == "Deutsch")
                let known = player.events("position").count
                _ = try await player.event("position") { _ in player.events("position").count > known + 2 }
                encoder.send(SIGINT)
                try await encoder.exitStatus()
                // The stream ends, and the playlist with it.
                try await player.expectExitStatus(0)
                try await platform.program.end()
            }
        }

        /// Returns the names of the audio renditions of a multivariant playlist by their languages.
        private static func languages(in text: String) -> [String: String] {
            var languages: [String: String] = [:]
            for line in text.split(separator: "\n") where line.hasPrefix("#EXT-X-MEDIA:TYPE=AUDIO") {
                guard let language = line.firstMatch(of: /,LANGUAGE="([^"]+)"/)?.1,
                    let name = line.firstMatch(of: /,NAME="([^"]+)"/)?.1
                else { continue }
                languages[String(language)] = String(name)
            }
            return languages
        }
    }
}
