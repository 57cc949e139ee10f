import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    /// Cameras that only a PipeWire server has, in a session with PipeWire and WirePlumber of its own.
    @Suite("Cameras of PipeWire", .serialized, .enabled(if: ThisMachine.hasWaylandDesktop))
    struct PipeWireCameraTests {
        private static let size = Dimensions(width: 640, height: 360)
        private static let name = "test_camera"
        private static let id = "pipewire:test_camera"

        @Test(
            "a camera is published, black without the camera or its server, and again", .timeLimit(.minutes(10)))
        func capture() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                let servers = try await desktop.startPipeWire()
                let camera = try await desktop.startCamera(Self.name, Self.size)
                let platform = try await LocalPlatform.start(in: workspace, limit: WaylandDesktop.limit)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "camera:\(Self.id)", "--audio", "null",
                    limit: WaylandDesktop.limit, variables: desktop.variables)
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let subscription = try await pcast.subscribe(streamToken: try await platform.viewingToken(stream))
                let renderer = subscription.createRenderer(RendererOptions(useNullAudioDevice: true))
                let screen = CapturedScreen()
                try renderer.start(on: screen)

                // The frames are those of the camera, in order.
                let first = try await screen.strip(Self.size)
                let last = await screen.sights.first { $0.index >= first.index + 60 }
                #expect(last != nil, "the frames end")
                let summary = CapturedScreen.Summary(Array(screen.sights.values.dropFirst(first.index)))
                #expect(summary.isOrdered && summary.isPast && summary.count > 10, "\(summary)")

                // Without the camera the frames are black, and the publisher waits for it.
                var count = screen.sights.values.count
                try await desktop.kill([camera])
                var black = try #require(await screen.sights.first(after: count) { $0.isBlack })
                let second = try await desktop.startCamera(Self.name, Self.size)
                try await screen.strip(Self.size, after: black.index)

                // The same without PipeWire.
                count = screen.sights.values.count
                try await desktop.kill(servers + [second])
                black = try #require(await screen.sights.first(after: count) { $0.isBlack })
                _ = try await desktop.startPipeWire()
                _ = try await desktop.startCamera(Self.name, Self.size)
                try await screen.strip(Self.size, after: black.index)

                renderer.stop()
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                await pcast.shutdown()
                try await platform.program.end()
            }
        }

        @Test("cameras are listed, and reported when they appear and disappear", .timeLimit(.minutes(10)))
        func hotPlug() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                // The server starts after the program that waits for its cameras.
                let watcher = try workspace.pcast(
                    "devices", "--media", "video", "--watch", limit: WaylandDesktop.limit, variables: desktop.variables)
                _ = try await watcher.event("device") { $0["id"].text == "null" }
                let servers = try await desktop.startPipeWire()
                let camera = try await desktop.startCamera(Self.name, Self.size)
                let arrived = try await watcher.event("arrived") { $0["id"].text == Self.id }
                #expect(arrived["name"].text == "Test camera" && arrived["type"].text == "physical", "\(arrived)")

                let list = try workspace.pcast(
                    "devices", "--media", "video", "--capabilities", variables: desktop.variables)
                try await list.expectExitStatus(0)
                let listed = try await list.event("device") { $0["id"].text == Self.id }
                let format = listed["capabilities"]["formats"][0]
                #expect(format["encoding"].text == "YUYV" && format["width"].number == 640, "\(listed)")

                try await desktop.kill([camera])
                _ = try await watcher.event("departed") { $0["id"].text == Self.id }
                // A server that ends takes its cameras with it.
                let other = try await desktop.startCamera("other_camera", Self.size)
                _ = try await watcher.event("arrived") { $0["id"].text == "pipewire:other_camera" }
                try await desktop.kill(servers + [other])
                _ = try await watcher.event("departed") { $0["id"].text == "pipewire:other_camera" }
                watcher.send(SIGINT)
                try await watcher.expectExitStatus(0)
            }
        }
    }
}
