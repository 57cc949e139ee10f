import Foundation
import PCastCore
import PCastIO
import PCastPlayback
import Testing

extension EndToEnd {
    /// Streams of platforms in the player.
    @Suite("Playing streams", .timeLimit(.minutes(5)))
    struct StreamPlaybackTests {
        @Test(
            "the timecode is the sender's capture time of the displayed frame, and the publisher's end ends playback")
        func timecode() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast(
                    "publish", "--listen", "127.0.0.1:0", "--video", "synthetic", "--audio", "synthetic")
                let link = try #require(try await publisher.event("publishing")["watch"].text)
                let screen = StampScreen()
                let player = Player(.media(playsAudio: false, shownOn: screen))
                screen.watch(player)
                let received = Awaited<PlayerEvent.Kind>()
                let events = player.events()
                let timecodes = Awaited<WallTime>()
                let following = Task { for await event in events { received.add(event.kind) } }
                let positions = player.positions()
                let timing = Task {
                    for await position in positions {
                        if let timecode = player.session?.timecode(at: position) { timecodes.add(timecode) }
                    }
                }
                player.set(video: Video(link), play: true)
                #expect(await received.first { $0 == .ready } != nil)
                #expect(await received.first { $0 == .durationChanged(nil) } != nil)
                #expect(await received.first { $0 == .mediaTypeDetermined(.audioVideo) } != nil)
                // Three seconds are displayed.
                _ = await screen.sights.first { _ in screen.sights.values.count >= 90 }
                #expect(await timecodes.first { _ in timecodes.values.count >= 60 } != nil)
                // Each position that the player reports is that of a frame which was shown. A frame lasts 33 ms.
                // The positions are read first, because each may have a frame that is being shown.
                let reported = timecodes.values
                let number = screen.sights.values.count
                _ = await screen.sights.first(after: number) { _ in screen.sights.values.count >= number + 2 }
                let sights = screen.sights.values
                let captured = sights.map { $0.stamp.captureTime(near: $0.shown) }
                let apart = reported.map { timecode in
                    captured.map { (timecode - $0).magnitude }.min() ?? .seconds(60)
                }
                #expect(apart.allSatisfy { $0 <= .milliseconds(5) }, "\(apart)")
                let ages = zip(sights, captured).map { $0.shown - $1 }.sorted()
                print("a stream in the player: median age of a frame \(ages[ages.count / 2])")
                #expect(try #require(ages.first) >= .zero)
                #expect(player.playhead?.seekableRange == nil && player.duration == .infinity)

                // While paused the frame remains. Playback then resumes with the frames sent at that time.
                let before = received.values.count
                player.pause()
                // A busy machine may have been waiting for media.
                #expect(await received.first(after: before) { $0 == .stateChanged(.paused(buffering: false)) } != nil)
                await player.settled()
                let count = screen.sights.values.count
                player.play()
                #expect(await screen.sights.first { _ in screen.sights.values.count >= count + 10 } != nil)

                publisher.send(SIGINT)
                #expect(await received.first { $0 == .finished } != nil)
                await player.settled()
                #expect(await received.first { $0 == .lifecycle(.end) } != nil)
                #expect(player.overlayState == .stopped)
                #expect(!received.values.contains { if case .error = $0 { true } else { false } })
                player.reset()
                await player.settled()
                following.cancel()
                timing.cancel()
            }
        }

        @Test(
            "When a delegate is set while a live stream plays, it receives the external playback status and only what has not yet occurred"
        )
        func delegate() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast(
                    "publish", "--listen", "127.0.0.1:0", "--video", "synthetic", "--audio", "synthetic")
                let link = try #require(try await publisher.event("publishing")["watch"].text)
                let controller = PlaybackController(.media(playsAudio: false, shownOn: StampScreen()))
                let (consumer, delegate) = (SessionRecord(), SessionRecord())
                controller.addSessionConsumer(consumer)
                controller.autoPlay = true
                let cuePoints = [1, 3].map { CuePoint(at: .seconds($0)) }
                controller.setVideos([Video(link, cuePoints: cuePoints)])
                #expect(await consumer.received.first { $0 == .cuePoints(.seconds(1)) } != nil)
                let before = try #require(controller.player.playhead?.position)
                controller.delegate = delegate
                #expect(await delegate.received.first { $0 == .cuePoints(.seconds(3)) } != nil)
                let received = delegate.received.values
                #expect(received.first == .external(false) && received.count { $0 == .external(false) } == 1)
                #expect(!received.contains(.cuePoints(.seconds(1))) && !received.contains(.lifecycle(.ready)))
                // Notifications that are queued while the delegate is set concern at most a few frames.
                for case .progress(.at(let position)) in received { #expect(position >= before - .milliseconds(100)) }
                publisher.send(SIGINT)
                #expect(await delegate.received.first { $0 == .lifecycle(.end) } != nil)
                controller.player.reset()
                await controller.player.settled()
            }
        }

        @Test("pcast play watches a link and a pcast address, and ends with the publisher")
        func program() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let token = try await platform.viewingToken(stream)
                let host = platform.uri.dropFirst("http://".count)
                // The addresses use the credentials of this machine, a token, and a link with a token.
                let addresses = [
                    "pcast://\(host)/\(stream)", "pcast://\(host)/#token=\(token.addingPercentEncoding)",
                    "\(platform.uri)/watch/\(stream)#token=\(token.addingPercentEncoding)",
                ]
                var players: [RunningProgram] = []
                for (index, address) in addresses.enumerated() {
                    players.append(
                        try workspace.pcast(
                            "play", address, "--render", "null", "--screenshot", workspace.path("last\(index).png")))
                }
                for player in players {
                    _ = try await player.event("ready")
                    _ = try await player.event("position") {
                        $0["position"].number ?? 0 >= 2 && $0["timecode"].text != nil
                    }
                    let received = player.output.lines.values.joined() + player.messages.lines.values.joined()
                    #expect(
                        !received.contains("DIGEST") && !received.contains(token.prefix(40)), "the token was disclosed")
                }
                publisher.send(SIGINT)
                for (index, player) in players.enumerated() {
                    try await player.expectExitStatus(0)
                    #expect(player.events("ended").first?["reason"].text == "completed")
                    let file = MediaFile(path: workspace.path("last\(index).png"), workspace: workspace)
                    #expect(try await file.stamps(width: 1_280, height: 720).first != nil)
                }
                let nothing = try workspace.pcast("play", "pcast://\(host)/stream-of-nobody", "--render", "null")
                try await nothing.expectExitStatus(4)
                try await platform.program.end()
            }
        }
    }
}

/// The notifications that a consumer or a delegate receives.
private final class SessionRecord: PlaybackSessionConsumer {
    enum Entry: Equatable, Sendable {
        case advanced
        case external(Bool)
        case cuePoints(Duration)
        case progress(PlaybackProgress)
        case lifecycle(LifecycleEvent)
    }

    let received = Awaited<Entry>()

    func didAdvance(to session: PlaybackSession) { received.add(.advanced) }

    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {
        received.add(.external(isActive))
    }

    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        for cuePoint in cuePoints.cuePoints {
            if case .at(let position) = cuePoint.position { received.add(.cuePoints(position)) }
        }
    }

    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        received.add(.progress(progress))
    }

    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {
        received.add(.lifecycle(lifecycleEvent))
    }
}
