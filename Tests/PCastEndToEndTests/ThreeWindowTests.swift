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
            try await TestWorkspace.run { place in
                let load = ForeignLoad()
                let ground = try await TimelineGround.start(in: place)
                let publisher = try place.pcast(
                    "publish", "--uri", await ground.uri, "--video", "synthetic", "--audio", "synthetic", "--size",
                    "640x360")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let recording = place.path("game.mkv")
                let recorder = try place.pcast(
                    "subscribe", "--uri", await ground.uri, "--token", try await ground.token(for: stream), "--record",
                    recording)
                _ = try await recorder.event("firstFrame")

                // The game is announced first, so that its timeline exists.
                try await ground.add("--id", "start", "--type", "period_start")
                let near = GameWindow("0.2 s behind")
                let delayed = GameWindow("1 s behind")
                let windows = [near, delayed]
                try await near.open(try await ground.address(of: stream))
                try await delayed.open(try await ground.address(of: stream, playoutBuffer: "PT1S"))
                for window in windows { #expect(await window.hasSeen(frames: 30), "\(window.name)") }

                // The goal occurs in the middle between two frames, and is entered slightly before.
                let goal = try #require(near.captured) + .seconds(4) + .milliseconds(17)
                try await ground.add("--id", "goal", "--type", "goal", "--team", "home", "--at", Timestamp.text(goal))
                #expect(WallTime.now < goal, "the goal was entered in time")
                for window in windows { try await window.sees("added goal", of: goal) }
                #expect(await near.hasSeen(goal + .seconds(4)))
                recorder.send(SIGINT)
                #expect(try await recorder.exitStatus() == 0)

                // The recording shows the same frames half a minute after they were captured.
                let late = GameWindow("30 s behind")
                try await late.open(recording: recording, near: goal, of: ground.uri)
                try await late.seek(to: goal - .seconds(2))
                #expect(!late.knowsGoal)
                #expect(await near.hasSeen(goal + .seconds(28)))
                late.player.play()
                try await late.sees("added goal", of: goal)
                late.player.pause()

                for window in [near, delayed, late] {
                    let told = try #require(window.told("added goal"))
                    print(
                        "\(window.name): told \(told.moment - goal) after it, at frame \(told.frame), its own is \(told.own)"
                    )
                    // The event never precedes its own frame, on any machine.
                    #expect(told.frame >= told.own, "\(window.name)")
                    #expect(window.lines.filter { $0.hasSuffix("goal") }.count == 1, "\(window.name): \(window.lines)")
                }

                // Seeking back removes it, and seeking forward shows it again.
                let own = try #require(late.told("added goal")).own
                try await late.seek(to: goal - .seconds(1))
                #expect(late.lines.last == "deleted goal seek" && !late.knowsGoal)
                #expect(try #require(late.frame) < own)
                try await late.seek(to: goal + .seconds(1))
                #expect(late.lines.last == "added goal" && late.knowsGoal)
                #expect(try #require(late.frame) > own)

                for window in [near, delayed, late] { await window.close() }
                publisher.send(SIGINT)
                _ = try await publisher.exitStatus()
                guard load.isBearable() else { return }
                var numbers: Set<Int> = []
                for (window, range) in [(near, 0.0...0.7), (delayed, 0.99...1.7), (late, 29.0...31.5)] {
                    let told = try #require(window.told("added goal"))
                    numbers.insert(told.own)
                    #expect(told.frame <= told.own + 1, "\(window.name): frame \(told.frame), own \(told.own)")
                    #expect(range.contains((told.moment - goal).seconds), "\(window.name): \(told.moment - goal)")
                }
                // All windows show the same frames, so the goal's own frame is the same in all of them.
                #expect(numbers.count == 1, "\(numbers)")
            }
        }
    }
}
