import Foundation
import PCast
import PCastCore
import PCastPlayback
import Testing

extension EndToEnd {
    /// External playback: another device watches the player's media through a platform, and the player controls it.
    @Suite("Handing off playback", .enabled(if: ThisMachine.hasFFmpeg), .timeLimit(.minutes(5)))
    struct HandOffTests {
        private static let rate = 30.0
        /// The duration of the film, which is played in a loop.
        private static let filmSeconds = 6.0

        /// Another device of the user, which reacts to an invitation.
        private final class Device: Sendable {
            let screen = StampScreen()
            let player: Player
            let received = Awaited<PlayerEvent.Kind>()
            private let following: Task<Void, Never>

            init() {
                player = Player(.media(playsAudio: false, shownOn: screen))
                let (events, received) = (player.events(), received)
                following = Task { for await event in events { received.add(event.kind) } }
            }

            /// Plays a stream, and returns when it is displayed.
            func watch(_ stream: StreamID, by token: String, at platform: String) async throws {
                let address = "\(platform)/watch/\(stream)#token=\(token.addingPercentEncoding)"
                player.set(video: Video(address), play: true)
                guard await received.first(where: { $0 == .ready }) != nil else {
                    throw EndToEndFailure("the device shows nothing: \(received.values)")
                }
            }

            func close() async {
                player.reset()
                await player.settled()
                following.cancel()
            }
        }

        /// A film that is played on this device in a loop, and was handed off to another one.
        private struct HandedOffFilm {
            let workspace: TestWorkspace
            let platform: LocalPlatform
            let player: Player
            let screen: StampScreen
            let device: Device
            let handOff: StreamExternalPlayback
            /// The events of the player.
            let received: Awaited<PlayerEvent.Kind>
            /// The first frame that was displayed.
            let first: StampScreen.Sight

            /// Returns whether a frame is displayed at a position of the film.
            func shows(_ position: Double) -> @Sendable (StampScreen.Sight) -> Bool {
                let counter = Int(first.stamp.counter) + Int((position * HandOffTests.rate).rounded())
                return { abs(Int($0.stamp.counter) - counter) <= 1 }
            }

            /// Hands off a film and runs a test.
            static func run(_ test: (HandedOffFilm) async throws -> Void) async throws {
                try await TestWorkspace.run { workspace in
                    let film = try await StampedRecording.make(
                        "film.mp4", seconds: Int(HandOffTests.filmSeconds), in: workspace)
                    let platform = try await URIPlatform.start(in: workspace)
                    let (screen, capture, device) = (StampScreen(), PlaybackCapture(), Device())
                    let player = Player(.media(playsAudio: false, shownOn: screen, capturedBy: capture))
                    screen.watch(player)
                    player.loop = true
                    let received = Awaited<PlayerEvent.Kind>()
                    let events = player.events()
                    let following = Task { for await event in events { received.add(event.kind) } }
                    player.set(video: Video(film.path), play: true)
                    let first = try #require(await screen.sights.first())
                    _ = await screen.sights.first { _ in screen.sights.values.count >= 30 }

                    let local = platform.local
                    let handOff = StreamExternalPlayback(
                        of: capture, through: platform.pcast, token: try await local.publishingToken()
                    ) { publisher in
                        let token = try await local.viewingToken("\(publisher.streamID)")
                        try await device.watch(publisher.streamID, by: token, at: local.uri)
                    }
                    try await player.startExternalPlayback(handOff)
                    await player.settled()
                    try await test(
                        HandedOffFilm(
                            workspace: workspace, platform: local, player: player, screen: screen, device: device,
                            handOff: handOff, received: received, first: first))
                    await device.close()
                    player.reset()
                    await player.settled()
                    following.cancel()
                    await platform.pcast.shutdown()
                    try await local.program.end()
                }
            }
        }

        @Test("a film continues on another device, a little later, and is no longer displayed on this one")
        func handOff() async throws {
            try await HandedOffFilm.run { film in
                let (player, screen, sights) = (film.player, film.screen, film.device.screen.sights)
                #expect(player.isExternalPlaybackActive)
                #expect(await film.received.first { $0 == .externalPlaybackChanged(true) } != nil)
                #expect(await film.received.first { $0 == .lifecycle(.startCastSession) } != nil)
                #expect(screen.isDark && player.session?.playerState.continues == true)

                let (seenHere, seenThere) = (screen.sights.values.count, sights.values.count)
                _ = await sights.first { _ in sights.values.count >= seenThere + 90 }
                #expect(screen.sights.values.count == seenHere && screen.isDark)
                let seen = sights.values.suffix(80)
                let stamps = seen.map { Int($0.stamp.counter) }
                let steps = zip(stamps.dropFirst(), stamps).map { $0 - $1 }
                // The film restarts each six seconds, and may do so again after a stall. A busy machine leaves out frames, and
                // takes longer to show this many.
                let passed = try #require(seen.last).shown - (try #require(seen.first)).shown
                #expect(steps.count { $0 < 1 } <= 2 + Int(passed.seconds / Self.filmSeconds), "\(stamps)")
            }
        }

        @Test("the stream of a film that is handed off has audio and video of the same duration")
        func streamHasAudio() async throws {
            try await HandedOffFilm.run { film in
                let name = film.workspace.path("there.mp4")
                let stream = try #require(film.handOff.streamID)
                let viewer = try film.workspace.pcast(
                    "subscribe", "--uri", film.platform.uri, "--token",
                    try await film.platform.viewingToken("\(stream)"), "--record", name)
                _ = try await viewer.event("stats") { ($0["framesRendered"].number ?? 0) >= 4 * Self.rate }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                let recording = MediaFile(path: name, workspace: film.workspace)
                #expect(try await recording.loudness() > -60)
                let (video, audio) = (try await recording.track("video"), try await recording.track("audio").duration)
                // The first frame is older than the next one by the time in which the stream had no viewer. Without such a time
                // the durations are equal, and with it those of the frames.
                let differences = [video.duration - audio, Double(video.frames) / Double(Self.rate) - audio].map(abs)
                #expect(differences.contains { $0 < 0.5 }, "\(differences)")
            }
        }

        @Test("after a pause and a seek on this device, the other one displays the frame at that position")
        func control() async throws {
            try await HandedOffFilm.run { film in
                let sights = film.device.screen.sights
                // Frames from before the pause are still displayed after it. None of them is near the target.
                _ = await sights.first()
                let last = try #require(sights.values.last)
                let position = (Double(last.stamp.counter) - Double(film.first.stamp.counter)) / Self.rate
                let before = sights.values.count
                film.player.pause()
                let landed = try await film.player.seek(to: position > 3 ? 2.0 : 5.0)
                let isThere = film.shows(landed)
                _ = await sights.first(after: before, where: isThere)
                #expect(sights.values.last.map(isThere) == true, "\(landed)")
                #expect(film.screen.isDark)
            }
        }

        @Test("when it is stopped, a film returns to this device at its position, and ends on the other one")
        func stop() async throws {
            try await HandedOffFilm.run { film in
                let (player, screen) = (film.player, film.screen)
                player.pause()
                let isThere = film.shows(try await player.seek(to: 2.0))
                await player.stopExternalPlayback()
                await player.settled()
                #expect(!player.isExternalPlaybackActive)
                #expect(await film.received.first { $0 == .externalPlaybackChanged(false) } != nil)
                #expect(await film.received.first { $0 == .lifecycle(.endCastSession) } != nil)
                #expect(
                    !screen.isDark && screen.sights.values.last.map(isThere) == true,
                    "the video must be on the local screen")
                #expect(
                    await film.device.received.first { $0 == .finished } != nil,
                    "playback on the device must have ended")
                let count = screen.sights.values.count
                player.play()
                #expect(await screen.sights.first { _ in screen.sights.values.count >= count + 10 } != nil)
            }
        }

        @Test("after an uninvited device, or the end of the stream by others, playback is local again")
        func refused() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await StampedRecording.make(
                    "film.mp4", seconds: Int(Self.filmSeconds), in: workspace)
                let platform = try await URIPlatform.start(in: workspace)
                let (screen, capture) = (StampScreen(), PlaybackCapture())
                let player = Player(.media(playsAudio: false, shownOn: screen, capturedBy: capture))
                player.loop = true
                player.set(video: Video(film.path), play: true)
                _ = try #require(await screen.sights.first())
                let received = Awaited<PlayerEvent.Kind>()
                let events = player.events()
                let following = Task { for await event in events { received.add(event.kind) } }
                let (pcast, local) = (platform.pcast, platform.local)
                let token = try await local.publishingToken()
                await #expect(throws: EndToEndFailure.self) {
                    try await player.startExternalPlayback(
                        StreamExternalPlayback(of: capture, through: pcast, token: token) { _ in
                            throw EndToEndFailure("the television is off")
                        })
                }
                await #expect(throws: PCastError.self) {
                    try await player.startExternalPlayback(
                        StreamExternalPlayback(of: capture, through: pcast, token: "no token"))
                }
                #expect(!player.isExternalPlaybackActive && !screen.isDark)

                let handOff = StreamExternalPlayback(of: capture, through: pcast, token: token)
                try await player.startExternalPlayback(handOff)
                #expect(player.isExternalPlaybackActive && screen.isDark)
                try await local.end("\(try #require(handOff.streamID))")
                #expect(await received.first { $0 == .externalPlaybackChanged(false) } != nil)
                let count = screen.sights.values.count
                #expect(await screen.sights.first { _ in screen.sights.values.count >= count + 10 } != nil)
                #expect(!player.isExternalPlaybackActive && !received.values.contains { $0.isError })

                // External playback ends with the item that was handed off.
                try await player.startExternalPlayback(handOff)
                let stream = try #require(handOff.streamID)
                player.reset()
                await player.settled()
                #expect(await received.first { $0 == .videoChanged(nil) } != nil)
                let token2 = try await local.viewingToken("\(stream)")
                _ = try? await pcast.subscribe(streamToken: token2).ended
                #expect(!player.isExternalPlaybackActive)
                following.cancel()
                await pcast.shutdown()
                try await local.program.end()
            }
        }

        @Test(
            "a looping list is a channel that a browser can watch", .enabled(if: ThisMachine.hasChromium))
        func channel() async throws {
            try await TestWorkspace.run { workspace in
                let films = [
                    try await StampedRecording.make("one.mp4", seconds: 3, in: workspace),
                    try await StampedRecording.make("two.mp4", seconds: 3, in: workspace),
                ]
                let seconds = ThisMachine.isFull ? 120 : 4
                let page = workspace.path("page.png")
                let browser = try Peer(
                    "watch_chromium.py", ["-", "--screenshot", page, "--strip"], in: nil, of: workspace,
                    seconds: seconds, hears: true)
                try await browser.awaitReadiness()
                let platform = try await URIPlatform.start(in: workspace)
                let (screen, capture) = (StampScreen(), PlaybackCapture())
                let player = Player(.media(playsAudio: false, shownOn: screen, capturedBy: capture))
                player.loop = true
                let received = Awaited<PlayerEvent.Kind>()
                let events = player.events()
                let following = Task { for await event in events { received.add(event.kind) } }
                let token = try await platform.local.publishingToken()
                let publisher = try await platform.pcast.publish(streamToken: token, mediaStream: capture.mediaStream)
                player.set(videos: films.map { Video($0.path) }, play: true)

                let viewing = try await platform.local.viewingToken("\(publisher.streamID)")
                try browser.program.notify(
                    "\(platform.local.uri)/watch/\(publisher.streamID)#token=\(viewing.addingPercentEncoding)")
                let figures = try await browser.figures()
                #expect(figures["size"] == .list([.number(640), .number(360)]))
                // The page shows one of the displayed frames.
                let box = figures["videoBox"].list.compactMap(\.number).map { Int($0) }
                try #require(box.count == 4)
                let cut = workspace.path("video.png")
                try await workspace.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-i", page, "-vf",
                        "crop=\(box[2]):\(box[3]):\(box[0]):\(box[1]),scale=640:360:flags=area", cut,
                    ])
                let seen = try await MediaFile(path: cut, workspace: workspace).stamps().first ?? nil
                let stamp = try #require(seen)
                #expect(screen.sights.values.contains { $0.stamp.counter == stamp.counter })
                #expect(await received.first { $0.isRound } != nil, "the list must be played again")
                let rounds = received.values.count { $0.isRound }
                #expect(!received.values.contains { $0.isError } && !publisher.hasEnded)
                print("a channel: \(rounds) rounds in a browser, \(figures["freezeCount"]) freezes")
                publisher.stop()
                player.reset()
                await player.settled()
                following.cancel()
                await platform.pcast.shutdown()
                try await platform.local.program.end()
            }
        }
    }
}

extension PlayerEvent.Kind {
    fileprivate var isError: Bool { if case .error = self { true } else { false } }

    /// Whether the list was played to its end.
    fileprivate var isRound: Bool { if case .playlistCompleted = self { true } else { false } }
}
