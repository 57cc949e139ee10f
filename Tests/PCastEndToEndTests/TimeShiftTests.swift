import Foundation
import PCast
import PCastCore
import PCastPlayback
import PCastRendering
import PCastTimeline
import Testing

extension EndToEnd {
    /// Viewers in real time that seek in the window of the stream, and return.
    @Suite("Time shift", .timeLimit(.minutes(10)))
    struct TimeShiftTests {
        /// The largest error of a capture time: the platform's estimate of the publisher's clock.
        private static let clockError = TimeSpan.milliseconds(50)
        /// The largest distance of a displayed frame from the target of a seek: two frames, and the error of the clock.
        private static let seekError = TimeSpan.milliseconds(120)
        /// The age of a frame above which it is not in real time.
        private static let realTime = TimeSpan.milliseconds(1_500)

        /// The capture times of displayed frames.
        private final class TimeScreen: RenderSurface {
            struct Sight: Sendable {
                /// The capture time in the picture.
                var captured: WallTime
                /// The capture time of the frame; nil if it is unknown.
                var reported: WallTime?
                /// The time from capture to presentation.
                var age: TimeSpan
            }

            let sights = Awaited<Sight>()

            func show(_ frame: VideoFrame) {
                guard let stamp = TestPatternStrip.read(frame) else { return }
                let now = WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000))
                let captured = stamp.captureTime(near: now)
                sights.add(Sight(captured: captured, reported: frame.captureTime, age: now - captured))
            }

            /// Waits for a frame after those so far.
            func next(where matches: @escaping @Sendable (Sight) -> Bool) async throws -> Sight {
                try #require(await sights.first(after: sights.values.count, where: matches))
            }

            var arrangement: FrameArrangement {
                get { FrameArrangement() }
                set {}
            }

            var statistics: SurfaceStatistics { SurfaceStatistics() }

            var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
        }

        /// Waits for a state of a time shift, after a seek.
        private static func state(_ wanted: TimeShift.State, of timeShift: TimeShift) async throws {
            for await state in timeShift.state.values {
                if state == wanted { return }
                if case .failed(let reason) = state { throw EndToEndFailure(reason) }
            }
        }

        @Test("a renderer seeks by UTC and by offsets into the window, and returns to real time, repeatedly")
        func renderer() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(in: workspace)
                try await live.awaitPlaylist()
                let pcast = PCast(PCastOptions(uri: live.platform.uri, streamingClient: .hls))
                _ = try await pcast.start(authenticationToken: try await live.platform.authenticationToken())
                let stream = try await pcast.subscribe(streamToken: try await live.platform.viewingToken(live.stream))
                let renderer = stream.createRenderer(RendererOptions(useNullAudioDevice: true))
                #expect(!renderer.isSeekable)
                #expect(throws: PCastError.self) { try renderer.seek(by: .seconds(-1)) }
                let screen = TimeScreen()
                try renderer.start(on: screen)
                #expect(renderer.isSeekable && renderer.timeShift.state.value == .live)

                // In real time, the window is the one that the platform announces.
                let first = try await screen.next { $0.reported != nil && $0.age < Self.realTime }
                _ = try await screen.next { $0.captured >= first.captured + .seconds(8) }
                let announced = try #require(renderer.timeShift.seekableRange)
                #expect(announced.contains(first.captured))

                // A busy publisher leaves out frames, so a seek may have to land at some distance from its target. The frames
                // after the last one that was displayed in real time are unknown.
                let published = screen.sights.values.map(\.captured)
                func allowedError(at time: WallTime) throws -> TimeSpan {
                    let nearest = try #require(published.map { ($0 - time).magnitude }.min())
                    return Self.seekError + min(nearest, .milliseconds(500))
                }

                // By UTC.
                let target = first.captured + .seconds(2)
                let timeShift = try renderer.seek(to: target)
                #expect(timeShift === renderer.timeShift)
                try await Self.state(.playing, of: timeShift)
                let landed = try #require(timeShift.startTime)
                let allowed = try allowedError(at: target)
                #expect((landed - target).magnitude <= allowed)
                #expect(try #require(timeShift.seekableRange).contains(target))
                // A last frame in real time may be on its way to the surface.
                _ = try await screen.next { ($0.captured - landed).magnitude < .seconds(2) }
                let count = screen.sights.values.count
                _ = await screen.sights.first(after: count) { _ in screen.sights.values.count >= count + 60 }
                let shifted = screen.sights.values.dropFirst(count).prefix(60)
                for (before, after) in zip(shifted, shifted.dropFirst()) {
                    #expect(after.captured > before.captured && after.age > Self.realTime)
                    // The capture time of the frame is that of its picture.
                    let reported = try #require(after.reported)
                    #expect((reported - after.captured).magnitude <= Self.clockError, "\(reported)")
                }
                let earliest = try #require(shifted.first)
                #expect((earliest.captured - target).magnitude < .seconds(2))
                #expect(timeShift.playbackHead.value != nil)

                // By an offset from the current position, while paused.
                timeShift.pause()
                try await Self.state(.paused, of: timeShift)
                let paused = try #require(timeShift.playbackHead.value)
                let shown = screen.sights.values.count
                try renderer.seek(by: .seconds(-1))
                try await Self.state(.paused, of: timeShift)
                let back = try #require(timeShift.startTime)
                let wanted = paused - .seconds(1)
                let allowedBack = try allowedError(at: wanted)
                #expect((back - wanted).magnitude <= allowedBack)
                let frame = await screen.sights.first(after: shown) { ($0.captured - back).magnitude <= Self.seekError }
                #expect(frame != nil)
                timeShift.play()
                _ = try await screen.next { $0.captured > paused }

                // Back to real time, on the same surface.
                timeShift.stop()
                #expect(timeShift.state.value == .live && timeShift.playbackHead.value == nil)
                let returned = try await screen.next { $0.age < Self.realTime }
                print("back in real time, \(returned.age) after capture")
                _ = try await screen.next { $0.captured > returned.captured + .seconds(1) && $0.age < Self.realTime }

                // From the ends of the window, again.
                try renderer.seek(by: .seconds(1), from: .beginning)
                try await Self.state(.playing, of: timeShift)
                let beginning = try #require(timeShift.startTime)
                #expect(beginning < target)
                try renderer.seek(by: .seconds(-3), from: .end)
                try await Self.state(.playing, of: timeShift)
                let end = try #require(timeShift.startTime)
                #expect(end > returned.captured - .seconds(5))
                timeShift.stop()
                _ = try await screen.next { $0.age < Self.realTime }
                let seen = screen.sights.values.count
                #expect(await renderer.summary().framesRendered >= seen)

                live.publisher.send(SIGINT)
                #expect(await stream.ended.reason == .ended)
                // It runs until its last frame was shown.
                await renderer.stopped
                #expect(!renderer.isSeekable)
                await pcast.shutdown()
                try await live.platform.program.end()
            }
        }

        @Test("a stream that is not packaged, and a client without HLS, are not seekable")
        func unavailable() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast("publish", "--uri", platform.uri, "--video", "synthetic")
                let id = try #require(try await publisher.event("publishing")["streamId"].text)
                let pcast = PCast(PCastOptions(uri: platform.uri, streamingClient: .hls))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let stream = try await pcast.subscribe(streamToken: try await platform.viewingToken(id))
                let renderer = stream.createRenderer(.nullDevices)
                try renderer.start()
                #expect(!renderer.isSeekable && renderer.timeShift.seekableRange == nil)
                let failure = #expect(throws: PCastError.self) { try renderer.seek(by: .seconds(-1)) }
                #expect(failure?.status == .badRequest)
                #expect(renderer.timeShift.state.value == .live)
                await pcast.shutdown()
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }

        @Test(
            "the seek bar of the watch page leads into the window and back by mouse and keyboard, with events on their frames",
            .enabled(if: !ThisMachine.browsers.isEmpty))
        func page() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(in: workspace)
                try await live.awaitPlaylist()
                // One browser after the other uses the stream, so the window is long enough for the second one at once.
                for browser in ThisMachine.browsers {
                    let peer = try Peer(
                        "watch_time_shift.py",
                        [
                            "--url", "\(live.platform.uri)/watch/\(live.stream)", "--browser", browser, "--platform",
                            live.platform.uri, "--application", LocalPlatform.application, "--stream", live.stream,
                            "--token", try await live.platform.viewingToken(live.stream), "--timeline-token",
                            try await workspace.token(LocalPlatform.application, "--type", "stream"),
                        ], in: nil, of: workspace, seconds: 120)
                    let figures = try await peer.figures()
                    print(
                        "\(figures["peer"].text ?? ""): \(figures["shiftedAge"]) s after a seek by 20 s, error of the "
                            + "time of frames \(figures["timeError"]) ms, the goal \(figures["goal"]) ms after its time"
                    )
                }
                try await live.end()
            }
        }

        /// Records the events of a timeline, with the capture time of the frame displayed then.
        private final class Witness: EventSendableDelegate {
            struct Told: Sendable {
                var line: String
                var gate: WallTime
                var displayed: WallTime?
            }

            let received = Awaited<Told>()
            private let screen: StampScreen

            init(_ screen: StampScreen) { self.screen = screen }

            func didReceive(
                event: StreamTimelineEvent, suggestedAction: SuggestedAction,
                metadata: (any StreamTimelineMetadata)?
            ) {
                guard let delivery = (metadata as? TimelineEventMetadata)?.delivery, let id = delivery.eventID else {
                    return
                }
                let reason = delivery.reason.map { " \($0)" } ?? ""
                let displayed = screen.sights.values.suffix(2).map { $0.stamp.captureTime(near: $0.shown) }.max()
                received.add(Told(line: "\(delivery.type) \(id)\(reason)", gate: delivery.gate, displayed: displayed))
            }

            func heard(_ line: String, after count: Int = 0) async throws -> Told {
                try #require(await received.first(after: count) { $0.line == line }, "\(line)")
            }
        }

        @Test("a player seeks from real time into the window and back, and the timeline's events keep their frames")
        func player() async throws {
            try await TestWorkspace.run { workspace in
                let ground = try await TimelineGround.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", await ground.uri, "--token",
                    try await workspace.token(
                        LocalPlatform.application, "--type", "publish", "--capability", "streaming"),
                    "--video", "synthetic", "--audio", "synthetic")
                let id = try #require(try await publisher.event("publishing")["streamId"].text)
                let screen = StampScreen()
                let player = Player(.media(playsAudio: false, shownOn: screen))
                screen.watch(player)
                let witness = Witness(screen)
                player.eventDelegate = witness
                let timeline = GameTimeline(
                    TimelineConfiguration(leagueName: TimelineGround.league, gameId: TimelineGround.game),
                    player: player,
                    source: TimelinePlatform(uri: await ground.uri, token: try await ground.token()))
                player.set(video: Video(try await ground.address(of: id)), play: true)
                let sights = screen.sights
                let first = try #require(await sights.first { $0.timecode != nil })
                let began = first.stamp.captureTime(near: first.shown)
                #expect(await sights.first { $0.stamp.captureTime(near: $0.shown) > began + .seconds(3) } != nil)
                try await ground.add("--id", "goal", "--type", "goal", "--team", "home")
                try await timeline.subscribeEvents()
                let goal = try await witness.heard("added goal")
                #expect(
                    await sights.first { $0.stamp.captureTime(near: $0.shown) > goal.gate + .seconds(4) } != nil)
                // The window follows the stream, later on a busy machine.
                let end = ContinuousClock.now + .timeout
                while player.playhead?.timecodeRange?.contains(goal.gate) != true {
                    try #require(ContinuousClock.now < end, "the window does not contain the event")
                    try await ContinuousClock().sleep(for: .milliseconds(50))
                }

                // Two seconds before the event, it is withdrawn. It returns with its frame.
                let count = witness.received.values.count
                let shown = sights.values.count
                let target = goal.gate - .seconds(2)
                try await player.seek(to: target)
                #expect(try #require(player.playhead?.timecode) >= target - .seconds(1))
                // The first frame from before the event is that of the seek.
                let landed = try #require(
                    await sights.first(after: shown) { $0.stamp.captureTime(near: $0.shown) < goal.gate })
                let since = sights.values.count
                #expect((landed.stamp.captureTime(near: landed.shown) - target).magnitude < .seconds(1))
                _ = try await witness.heard("deleted goal seek", after: count)
                let again = try await witness.heard("added goal", after: count)
                // A frame lasts 33 ms.
                #expect(try #require(again.displayed) >= again.gate - .milliseconds(50), "\(again)")
                for sight in sights.values.dropFirst(since).suffix(20) {
                    let captured = sight.stamp.captureTime(near: sight.shown)
                    #expect(sight.shown - captured > .seconds(2))
                }

                // A pause keeps the frame of the window.
                player.pause()
                await player.settled()
                let paused = try #require(player.playhead?.timecode)
                let held = sights.values.count
                player.play()
                let next = try #require(await sights.first(after: held))
                #expect(next.stamp.captureTime(near: next.shown) - paused < .seconds(1))

                try await player.seekToLiveEdge()
                let age = { @Sendable (sight: StampScreen.Sight) in
                    sight.shown - sight.stamp.captureTime(near: sight.shown)
                }
                let returned = try #require(
                    await sights.first(after: sights.values.count) { age($0) < Self.realTime })
                print("the player is back in real time, \(age(returned)) after capture")
                #expect(timeline.shownEvents.map(\.id) == ["goal"])
                timeline.shutdown()
                publisher.send(SIGINT)
                player.reset()
                await player.settled()
            }
        }
    }
}
