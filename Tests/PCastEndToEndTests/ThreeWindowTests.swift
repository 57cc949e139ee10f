import Foundation
import PCastCore
import PCastPlayback
import PCastTimeline
import Testing

extension EndToEnd {
    /// One game in three windows with different delays. The frames' own numbers and capture times are the reference.
    @Suite("A game in three windows", .timeLimit(.minutes(5)))
    struct ThreeWindowTests {
        @Test(
            "Viewers 0.2 s, 1 s and 30 s behind see a goal, entered once, each on its own frame; seeking back removes it"
        )
        func goal() async throws {
            try await TestWorkspace.run { workspace in
                let ground = try await TimelineGround.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", await ground.uri, "--video", "synthetic", "--audio", "synthetic", "--size",
                    "640x360")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let recording = workspace.path("game.mkv")
                let recorder = try workspace.pcast(
                    "subscribe", "--uri", await ground.uri, "--token", try await ground.token(for: stream), "--record",
                    recording)
                _ = try await recorder.event("firstFrame")

                // The game is announced first, so that its timeline exists.
                let announced = ContinuousClock.now
                try await ground.add("--id", "start", "--type", "period_start")
                let entry = announced.duration(to: .now)
                let near = GameWindow("0.2 s behind")
                let delayed = GameWindow("1 s behind")
                let windows = [near, delayed]
                try await near.open(try await ground.address(of: stream))
                try await delayed.open(try await ground.address(of: stream, playoutBuffer: "PT1S"))
                for window in windows { #expect(await window.hasSeen(frames: 30), "\(window.name)") }

                let (id, goal) = try await Self.enterGoal(on: ground, windows, entry)
                for window in windows { try await window.seesGoal() }
                #expect(await near.hasSeen(goal + .seconds(4)))
                recorder.send(SIGINT)
                try await recorder.expectExitStatus(0)

                // The recording shows the same frames later.
                let late = GameWindow("\(Self.delay) s behind")
                try await late.open(recording: recording, near: goal, of: ground.uri)
                try await late.seek(to: goal - .seconds(2))
                #expect(!late.knows(id))
                #expect(await near.hasSeen(goal + .seconds(Self.delay - 2)))
                late.expectGoal(id, at: goal)
                late.player.play()
                try await late.seesGoal()
                late.player.pause()

                let all = windows + [late]
                var numbers: Set<Int> = []
                for window in all {
                    let sight = try #require(window.goalSight, "\(window.name)")
                    numbers.insert(sight.own)
                    print(
                        "\(window.name): told \(sight.moment - goal) after it, at frame \(sight.frame), the first shown "
                            + "of it is \(sight.firstShown), its own is \(sight.own)")
                    // Never before its own frame, and not after the first that was shown of it.
                    #expect(sight.frame == sight.firstShown && sight.frame >= sight.own, "\(window.name)")
                    #expect(window.lines.filter { $0.hasSuffix(id) }.count == 1, "\(window.name): \(window.lines)")
                }
                // The frames have the same numbers in all windows.
                #expect(numbers.count == 1, "\(numbers)")
                try Self.expectLags(of: goal, near, delayed, late)

                // Seeking back removes it, seeking forward shows it again, by a frame and by a second.
                let own = try #require(late.goalSight).own
                for distance in [TimeSpan.milliseconds(10), .seconds(1)] {
                    try await late.seek(to: goal - distance)
                    #expect(late.lines.last == "deleted \(id) seek" && !late.knows(id), "\(distance) before it")
                    #expect(try #require(late.frame) < own)
                    try await late.seek(to: goal + distance + .milliseconds(10))
                    #expect(late.lines.last == "added \(id)" && late.knows(id), "\(distance) after it")
                    #expect(try #require(late.frame) >= own)
                }

                for window in all { await window.close() }
                publisher.send(SIGINT)
                _ = try await publisher.exitStatus()
            }
        }

        /// The seconds by which the last window is behind.
        private static let delay: Int64 = 30

        /// Enters a goal before it happens, in the middle between two frames. Returns its identifier and time.
        ///
        /// `entry` is the time that the machine took for another entry, and it has several times as much. A goal that it
        /// enters too late is not expected, and the next one has more time.
        private static func enterGoal(
            on ground: TimelineGround, _ windows: [GameWindow], _ entry: Duration
        ) async throws -> (id: String, moment: WallTime) {
            let lead = max(4, 5 * entry.seconds).rounded()
            for factor in [1.0, 4, 16] {
                let id = "goal-\(Int(factor))"
                let goal = try #require(windows[0].captured) + .seconds(Int64(lead * factor)) + .milliseconds(17)
                for window in windows { window.expectGoal(id, at: goal) }
                try await ground.add("--id", id, "--type", "goal", "--team", "home", "--at", Timestamp.text(goal))
                if WallTime.now < goal { return (id, goal) }
                for window in windows { window.expectNoGoal() }
            }
            throw EndToEndFailure("no goal was entered in time")
        }

        /// Each window receives the goal no earlier than its delay after it: the second one's is its token's playout buffer,
        /// and the third one's is the wait of the test. A busy machine only adds to these times.
        private static func expectLags(
            of goal: WallTime, _ near: GameWindow, _ delayed: GameWindow, _ late: GameWindow
        ) throws {
            let lags = try [near, delayed, late].map { try #require($0.goalSight).moment - goal }
            #expect(lags[0] >= .zero && lags[1] >= .milliseconds(990) && lags[2] >= .seconds(Self.delay - 2), "\(lags)")
        }
    }
}
