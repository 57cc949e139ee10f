import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    /// The audio of a PipeWire server without its PulseAudio server, in a session with PipeWire and WirePlumber of its own.
    @Suite("Audio of PipeWire", .serialized, .enabled(if: ThisMachine.hasPipeWireAudio))
    struct PipeWireAudioTests {
        private static let microphone = "test_microphone"

        /// A platform, a publisher of the audio of a source, and a viewer that hears it.
        private struct Scene {
            let platform: LocalPlatform
            let publisher: RunningProgram
            let heard: HeardAudio

            init(_ source: String, on desktop: WaylandDesktop, in workspace: TestWorkspace) async throws {
                platform = try await LocalPlatform.start(in: workspace, limit: WaylandDesktop.limit)
                publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "null", "--audio", source,
                    limit: WaylandDesktop.limit, variables: desktop.variables)
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                heard = try await HeardAudio(of: stream, at: platform, in: workspace, limit: WaylandDesktop.limit)
            }

            func end() async throws {
                try await heard.end()
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                try await platform.program.end()
            }
        }

        @Test(
            "one of two programs is heard alone, silence without it or the server, and the program again",
            .timeLimit(.minutes(10)))
        func program() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                var servers = try await desktop.startPipeWire()
                try await desktop.createOutput("speakers")
                let other = try await desktop.play(1_000, as: "Other")
                var player = try await desktop.play(440, as: "Music box")
                let scene = try await Scene("application:music BOX", on: desktop, in: workspace)
                let shares = try await scene.heard.awaitTones([440], share: 0.9, others: [1_000])
                #expect(shares[0] < 0.02)

                // The other program still plays.
                try await desktop.kill([player])
                try await scene.heard.awaitSilence()
                #expect(other.isRunning)
                player = try await desktop.play(440, as: "Music box")
                try await scene.heard.awaitTones([440], share: 0.9)

                // The publisher waits for the server.
                try await desktop.kill(servers + [player, other])
                try await scene.heard.awaitSilence()
                servers = try await desktop.startPipeWire()
                try await desktop.createOutput("speakers")
                _ = try await desktop.play(440, as: "Music box")
                try await scene.heard.awaitTones([440], share: 0.9)
                try await scene.end()
            }
        }

        @Test("the output has the audio of all programs, also after it was replaced", .timeLimit(.minutes(10)))
        func output() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                let servers = try await desktop.startPipeWire()
                try await desktop.createOutput("speakers")
                let players = [
                    try await desktop.play(1_000, as: "Other"), try await desktop.play(440, as: "Music box"),
                ]
                let scene = try await Scene("screen", on: desktop, in: workspace)
                try await scene.heard.awaitTones([440, 1_000], share: 0.4)
                try await desktop.kill(servers + players)
                try await scene.heard.awaitSilence()
                _ = try await desktop.startPipeWire()
                try await desktop.createOutput("headphones")
                _ = try await desktop.play(600, as: "Other")
                try await scene.heard.awaitTones([600], share: 0.9)
                try await scene.end()
            }
        }

        @Test("a microphone is heard, silence without it, and the microphone again", .timeLimit(.minutes(10)))
        func microphone() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                _ = try await desktop.startPipeWire()
                let microphone = try await desktop.play(600, as: Self.microphone, isMicrophone: true)
                // Another one, which must not take its place.
                _ = try await desktop.play(1_000, as: "other_microphone", isMicrophone: true)
                let scene = try await Scene("microphone:pipewire:\(Self.microphone)", on: desktop, in: workspace)
                try await scene.heard.awaitTones([600], share: 0.9)
                try await desktop.kill([microphone])
                try await scene.heard.awaitSilence()
                _ = try await desktop.play(600, as: Self.microphone, isMicrophone: true)
                try await scene.heard.awaitTones([600], share: 0.9)
                try await scene.end()
            }
        }

        @Test("devices are listed, and reported when they appear and disappear", .timeLimit(.minutes(10)))
        func hotPlug() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                // The server starts after the program that waits for its devices.
                let watcher = try workspace.pcast(
                    "devices", "--media", "audio", "--watch", limit: WaylandDesktop.limit, variables: desktop.variables)
                _ = try await watcher.event("device") { $0["id"].text == "null" }
                let servers = try await desktop.startPipeWire()
                try await desktop.createOutput("speakers")
                let microphone = try await desktop.play(600, as: Self.microphone, isMicrophone: true)
                let id = "pipewire:\(Self.microphone)"
                let arrived = try await watcher.event("arrived") { $0["id"].text == id }
                #expect(arrived["type"].text == "physical", "\(arrived)")
                for output in ["pipewire:@DEFAULT_AUDIO_SINK@", "pipewire:speakers"] {
                    let arrived = try await watcher.event("arrived") { $0["id"].text == output }
                    #expect(arrived["type"].text == "system-output", "\(arrived)")
                }

                let player = try await desktop.play(440, as: "Music box")
                let list = try workspace.pcast("devices", "--media", "audio", variables: desktop.variables)
                try await list.expectExitStatus(0)
                for id in [id, "pipewire:speakers", "application:Music box"] {
                    _ = try await list.event("device") { $0["id"].text == id }
                }

                try await desktop.kill([microphone])
                _ = try await watcher.event("departed") { $0["id"].text == id }
                // A server that ends takes its devices with it.
                try await desktop.kill(servers + [player])
                _ = try await watcher.event("departed") { $0["id"].text == "pipewire:speakers" }
                watcher.send(SIGINT)
                try await watcher.expectExitStatus(0)
            }
        }
    }
}
