import Foundation
import PCastCore
import PCastOverlay
import Testing

@testable import PCastPlayback

/// A served overlay of a scripted player.
final class ServedOverlay: Sendable {
    let pipelines = ScriptedPipelines()
    let player: Player
    let overlay: Overlay
    /// Where the overlay posts its notifications, and no other one.
    let center = NotificationCenter()
    let port: Int
    private let bridge: OverlayBridge
    private let serving: Task<Void, any Error>

    init(folder: String? = nil) async throws {
        player = Player(pipelines.factory)
        overlay = try Overlay(program: "final", player: PlayerOverlayPlugin(player), center: center)
        let bridge = OverlayBridge([overlay], folder: folder)
        self.bridge = bridge
        let (ports, opening) = AsyncStream.makeStream(of: Int.self)
        serving = Task { try await bridge.run { opening.yield($0) } }
        port = try #require(await ports.first { _ in true })
        overlay.load()
    }

    func page(isController: Bool = true, behind gate: AsyncStream<Void>? = nil) -> ScriptedPage {
        let token = isController ? "?token=\(overlay.controllerToken)" : ""
        return ScriptedPage("ws://127.0.0.1:\(port)/bridge/final\(token)", behind: gate)
    }

    /// A film of one minute that was recorded at 1,790,000,000,000 milliseconds since 1970.
    static var film: ContentOverview {
        var film = ContentOverview.film(60)
        film.anchors = [
            TimecodeAnchor(
                position: .zero, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000), source: .file)
        ]
        return film
    }

    /// Plays a film with or without known wall-clock times.
    func open(anchored: Bool = true) async throws -> ScriptedPipeline {
        player.set(video: Video("https://origin.example/a.mp4"), play: true)
        let pipeline = try await pipelines.last(player)
        pipeline.open(anchored ? Self.film : .film(60))
        pipeline.completeSeek()
        await player.settled()
        return pipeline
    }

    /// Waits until pending work has made a condition true.
    func wait(until isSo: () -> Bool) async {
        while !isSo(), !Task.isCancelled {
            await overlay.settled()
            await player.settled()
        }
    }

    func close() async {
        overlay.destroy()
        player.reset()
        await player.settled()
        serving.cancel()
        _ = try? await serving.value
    }
}
