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
                let load = ForeignLoad()
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
                if let browser { try await Self.watch(link, film, by: browser, load) }

                for program in [publisher] + viewers {
                    let end = try await program.event("ended", within: .seconds(Self.seconds) + .timeout)
                    #expect(end["reason"].text == "ended")
                    #expect(try await program.exitStatus() == 0)
                }
                for viewer in viewers {
                    #expect(try await viewer.event("summary")["packetsLost"] == .number(0))
                    if load.isBearable() { try await Self.check(figures: viewer.event("summary")) }
                }
                let found = try await film.find(MediaFile(path: picture, place: place))
                Self.check(found, "the screenshot")
                #expect(found.frame > (Self.seconds - 2) * Film.frameRate)
                try await Self.check(recording: MediaFile(path: recording, place: place), of: film)
            }
        }

        private static func check(figures: JSON) {
            #expect(figures["framesRendered"].number ?? 0 >= Double((seconds - 2) * Film.frameRate))
            #expect(figures["framesDropped"] == .number(0))
            #expect(figures["freezeCount"] == .number(0))
        }

        private static func check(_ found: Film.Place, _ what: String) {
            print("the film: \(what) shows frame \(found.frame), \(found.difference) of \(found.usualDifference) off")
            #expect(found.difference < 6, "\(what) shows the film")
            #expect(found.difference < found.usualDifference / 3, "\(what) shows one moment of the film")
        }

        private static func check(recording: MediaFile, of film: Film) async throws {
            let (picture, sound) = (try await recording.track("video"), try await recording.track("audio"))
            #expect(picture.width == 1_280)
            #expect(picture.height == 720)
            #expect(picture.frames >= (seconds - 3) * Film.frameRate)
            #expect(abs(picture.duration - sound.duration) < 0.5)
            check(try await film.find(recording), "the recording's last picture")
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

        /// Runs the page, which checks that video advances, audio is present and nothing freezes.
        private static func watch(_ link: String, _ film: Film, by browser: Peer, _ load: ForeignLoad) async throws {
            let place = film.file.place
            try browser.program.tell(link)
            let figures = try await browser.figures(judging: load)
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
