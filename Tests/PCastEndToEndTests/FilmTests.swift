import Foundation
import PCastCore
import Testing

extension EndToEnd {
    /// A usual file from disk to three screens.
    @Suite("The film")
    struct FilmTests {
        /// The duration of the film, within which a busy machine must start the viewers and load the page.
        private static let seconds = ThisMachine.isFull ? 60 : 40

        @Test(
            "a film is watched by two programs and a browser at once, and ends for all of them",
            .enabled(if: ThisMachine.hasFFmpeg), .timeLimit(.minutes(5)))
        func film() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: Self.seconds, in: workspace)
                #expect(try await film.file.track("video").hasBFrames)
                let browser = ThisMachine.hasChromium ? try await Self.startBrowser(in: workspace) : nil
                let (frame, recording) = (workspace.path("picture.png"), workspace.path("recording.mp4"))
                let publisher = try workspace.pcast(
                    "publish", "--listen", "127.0.0.1:0", "--video", film.file.path, "--audio", film.file.path)
                let link = try #require(try await publisher.event("publishing")["watch"].text)
                let viewers = [
                    try workspace.pcast("subscribe", "--record", recording),
                    try workspace.pcast("subscribe", "--screenshot", frame),
                ]
                for viewer in viewers { _ = try await viewer.event("firstFrame") }
                if let browser { try await Self.watch(link, film, by: browser) }

                for program in [publisher] + viewers {
                    let end = try await program.event("ended", within: .seconds(Self.seconds) + .timeout)
                    #expect(end["reason"].text == "ended")
                    try await program.expectExitStatus(0)
                }
                for viewer in viewers {
                    let summary = try await viewer.event("summary")
                    #expect(summary["packetsLost"] == .number(0))
                    let (decoded, rendered) = (summary["framesDecoded"].number, summary["framesRendered"].number)
                    #expect(try #require(rendered) > 0 && #require(rendered) <= #require(decoded))
                }
                let found = try await film.find(MediaFile(path: frame, workspace: workspace))
                Self.check(found, "the screenshot")
                #expect(found.frame > (Self.seconds - 2) * Film.frameRate)
                // The publisher tells the number once a second, and on a busy machine later.
                let (last, end) = (try #require(publisher.events("stats").last), try await publisher.event("ended"))
                let unreported = try end.time.timeIntervalSince(last.time) * Double(Film.frameRate)
                let dropped = Int(last["framesDropped"].number ?? 0) + max(Int(unreported), Film.frameRate)
                try await Self.check(
                    recording: MediaFile(path: recording, workspace: workspace), of: film, dropped: dropped)
            }
        }

        private static func check(_ found: Film.Place, _ what: String) {
            print("the film: \(what) shows frame \(found.frame), \(found.difference) of \(found.usualDifference) off")
            #expect(found.difference < 6, "\(what) shows the film")
            #expect(found.difference < found.usualDifference / 3, "\(what) shows one moment of the film")
        }

        /// Every frame is in it from the first to the last, except for those that the publisher has dropped because the machine
        /// was too slow for its encoder.
        private static func check(recording: MediaFile, of film: Film, dropped: Int) async throws {
            let (frame, audio) = (try await recording.track("video"), try await recording.track("audio"))
            #expect(Dimensions(width: frame.width, height: frame.height) == Film.size)
            #expect(abs(frame.duration - audio.duration) < 0.5)
            let first = try await film.find(recording, at: .first)
            let last = try await film.find(recording)
            check(first, "the recording's first frame")
            check(last, "the recording's last frame")
            #expect(last.frame > first.frame)
            // Adjacent frames are nearly equal.
            #expect(frame.frames <= last.frame - first.frame + 3)
            #expect(frame.frames >= last.frame - first.frame + 1 - dropped)
            let (original, recorded) = (try await film.file.loudness(), try await recording.loudness())
            #expect(abs(original - recorded) < 3, "\(recorded) dBFS of \(original)")
        }

        /// The time for which the page plays. The rest is for loading it.
        private static let watchedSeconds = ThisMachine.isFull ? seconds - 24 : 3

        private static func pageScreenshot(in workspace: TestWorkspace) -> String { workspace.path("page.png") }

        /// Starts headless Chromium, ready to open a page. Its start needs both processors of a small machine for some
        /// seconds, so no test should play meanwhile.
        private static func startBrowser(in workspace: TestWorkspace) async throws -> Peer {
            let browser = try Peer(
                "watch_chromium.py", ["-", "--screenshot", pageScreenshot(in: workspace)], in: nil, of: workspace,
                seconds: watchedSeconds, hears: true)
            try await browser.awaitReadiness()
            return browser
        }

        /// The page, which checks that frames move and audio is there.
        private static func watch(_ link: String, _ film: Film, by browser: Peer) async throws {
            let workspace = film.file.workspace
            try browser.program.notify(link)
            let figures = try await browser.figures()
            #expect(figures["srtpCipher"].text?.hasPrefix("SRTP_AEAD_AES_") == true)
            #expect(figures["size"].list.compactMap(\.number) == [Double(Film.size.width), Double(Film.size.height)])
            let box = figures["videoBox"].list.compactMap(\.number).map { Int($0) }
            try #require(box.count == 4)
            let found = try await film.find(
                MediaFile(path: pageScreenshot(in: workspace), workspace: workspace),
                filter: "crop=\(box[2]):\(box[3]):\(box[0]):\(box[1])")
            check(found, "the page")
        }
    }
}
