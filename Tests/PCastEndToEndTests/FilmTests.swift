import Foundation
import Testing

extension EndToEnd {
    /// A usual file from disk to three screens.
    @Suite("The film")
    struct FilmTests {
        private static let seconds = ThisMachine.isFull ? 60 : 32

        @Test(
            "a film is watched by two programs and a browser at once, and ends for all of them",
            .enabled(if: ThisMachine.hasFFmpeg), .timeLimit(.minutes(5)))
        func film() async throws {
            try await TestWorkspace.run { place in
                let film = try await Film.make(seconds: Self.seconds, in: place)
                #expect(try await film.file.track("video").hasBFrames)
                let browser = ThisMachine.hasChromium ? try await Self.startBrowser(in: place) : nil
                let (picture, recording) = (place.path("picture.png"), place.path("recording.mp4"))
                let publisher = try place.pcast(
                    "publish", "--listen", "127.0.0.1:0", "--video", film.file.path, "--audio", film.file.path)
                let link = try #require(try await publisher.event("publishing")["watch"].text)
                let viewers = [
                    try place.pcast("subscribe", "--record", recording),
                    try place.pcast("subscribe", "--screenshot", picture),
                ]
                for viewer in viewers { _ = try await viewer.event("firstFrame") }
                if let browser { try await Self.watch(link, film, by: browser) }

                for program in [publisher] + viewers {
                    let end = try await program.event("ended", within: .seconds(Self.seconds) + .timeout)
                    #expect(end["reason"].text == "ended")
                    #expect(try await program.exitStatus() == 0)
                }
                for viewer in viewers {
                    let summary = try await viewer.event("summary")
                    #expect(summary["packetsLost"] == .number(0))
                    let (decoded, rendered) = (summary["framesDecoded"].number, summary["framesRendered"].number)
                    #expect(try #require(rendered) > 0 && #require(rendered) <= #require(decoded))
                }
                let found = try await film.find(MediaFile(path: picture, place: place))
                Self.check(found, "the screenshot")
                #expect(found.frame > (Self.seconds - 2) * Film.frameRate)
                let dropped = Int(publisher.events("stats").last?["framesDropped"].number ?? 0)
                try await Self.check(recording: MediaFile(path: recording, place: place), of: film, dropped: dropped)
            }
        }

        private static func check(_ found: Film.Place, _ what: String) {
            print("the film: \(what) shows frame \(found.frame), \(found.difference) of \(found.usualDifference) off")
            #expect(found.difference < 6, "\(what) shows the film")
            #expect(found.difference < found.usualDifference / 3, "\(what) shows one moment of the film")
        }

        /// Every frame is in it from the first to the last, except for those that the publisher has dropped because the machine
        /// was too slow for its encoder. The publisher tells their number once a second.
        private static func check(recording: MediaFile, of film: Film, dropped: Int) async throws {
            let (picture, sound) = (try await recording.track("video"), try await recording.track("audio"))
            #expect(picture.width == 1_280)
            #expect(picture.height == 720)
            #expect(abs(picture.duration - sound.duration) < 0.5)
            let first = try await film.find(recording, at: .first)
            let last = try await film.find(recording)
            check(first, "the recording's first picture")
            check(last, "the recording's last picture")
            #expect(last.frame > first.frame)
            // Neighbours are nearly alike.
            #expect(picture.frames <= last.frame - first.frame + 3)
            #expect(picture.frames >= last.frame - first.frame + 1 - dropped - Film.frameRate)
            let (original, recorded) = (try await film.file.loudness(), try await recording.loudness())
            #expect(abs(original - recorded) < 3, "\(recorded) dBFS of \(original)")
        }

        /// The time for which the page plays. The rest is for loading it.
        private static let watchedSeconds = seconds - 24

        private static func pageScreenshot(in place: TestWorkspace) -> String { place.path("page.png") }

        /// Starts headless Chromium, ready to open a page. Its start needs both processors of a small machine for some
        /// seconds, so no test should play meanwhile.
        private static func startBrowser(in place: TestWorkspace) async throws -> Peer {
            let browser = try Peer(
                "watch_chromium.py", ["-", "--screenshot", pageScreenshot(in: place)], in: nil, of: place,
                seconds: watchedSeconds, hears: true)
            try await browser.awaitReadiness()
            return browser
        }

        /// The page, which checks that pictures move and sound is there.
        private static func watch(_ link: String, _ film: Film, by browser: Peer) async throws {
            let place = film.file.place
            try browser.program.tell(link)
            let figures = try await browser.figures()
            #expect(figures["srtpCipher"].text?.hasPrefix("SRTP_AEAD_AES_") == true)
            #expect(figures["size"] == .list([.number(1_280), .number(720)]))
            let box = figures["videoBox"].list.compactMap(\.number).map { Int($0) }
            try #require(box.count == 4)
            let found = try await film.find(
                MediaFile(path: pageScreenshot(in: place), place: place),
                filter: "crop=\(box[2]):\(box[3]):\(box[0]):\(box[1])")
            check(found, "the page")
        }
    }
}
