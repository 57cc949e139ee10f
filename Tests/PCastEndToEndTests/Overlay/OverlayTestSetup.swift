import Foundation
import PCastCore
import PCastIO
import PCastOverlay
import Testing

@testable import PCastPlayback

/// A player of a stamped program with a served overlay, and all its observers: classic ones, those by types, and the
/// reader of its messages.
final class OverlayTestSetup: Sendable {
    let player: Player
    let overlay: Overlay
    let screen: StampScreen
    let tone = ToneMeter()
    /// The positions of the frames on black.
    let frames = Awaited<DisplayedFrame>()
    let audience: OverlayListeners
    let address: String
    let viewerAddress: String
    let origin: String
    private let tasks: [Task<Void, any Error>]

    var center: NotificationCenter { audience.center }
    var classic: Awaited<OverlayMessage> { audience.classic }
    var typed: Awaited<OverlayMessage> { audience.typed }

    /// A stalled page causes no warning during a test.
    static let withoutTimeouts = OverlayCore.Configuration(warning: .seconds(600 as Int64), fatal: nil)

    init(
        _ programme: StampedProgramme, configuration: OverlayCore.Configuration = OverlayTestSetup.withoutTimeouts
    ) async throws {
        let (screen, tone, frames) = (StampScreen(), tone, frames)
        self.screen = screen
        let composition = FrameComposition { frame in
            frames.add(DisplayedFrame(frame))
            screen.show(frame)
        }
        player = Player(
            PipelineFactory(
                composition: composition,
                { source, handler throws(PlaybackError) in
                    let content = MediaContent.content(
                        at: source.address, isPlaylist: source.deliveryMethod == .hls ? true : nil,
                        configuration: HLSContent.Configuration())
                    do throws(IOError) {
                        return try MediaPipeline(
                            content, audio: tone, onFrame: { composition.show($0) }, onEvent: handler)
                    } catch {
                        throw .notPlayable(source.name, reason: error.description)
                    }
                }, preloading: { _ in nil }))
        screen.watch(player)
        audience = await OverlayListeners()
        overlay = try Overlay(
            program: "final", player: PlayerOverlayPlugin(player), configuration: configuration,
            center: audience.center)
        let bridge = OverlayBridge([overlay])
        let opened = Awaited<Int>()
        tasks = [Task { try await bridge.run { opened.add($0) } }]
        guard let port = await opened.first() else { throw EndToEndFailure("the bridge does not open") }
        (address, viewerAddress) = (
            bridge.address(of: overlay, port: port), bridge.viewerAddress(of: overlay, port: port)
        )
        origin = "http://127.0.0.1:\(port)"
        overlay.load()
        player.loop = true
        player.set(video: Video(programme.address), play: true)
    }

    func close() async {
        overlay.destroy()
        player.reset()
        await player.settled()
        for task in tasks { task.cancel() }
        await audience.close()
        for task in tasks { _ = try? await task.value }
    }

    // MARK: Waiting

    /// Waits for the first message after the first `count` messages of the observers by name.
    @discardableResult
    func heard(
        _ name: OverlayMessage.Name, after count: Int = 0,
        where matches: @escaping @Sendable (OverlayMessage) -> Bool = { _ in true }
    ) async throws -> OverlayMessage {
        let classic = classic
        let found = await classic.first { message in
            message.name == name && matches(message) && classic.values.dropFirst(count).contains(message)
        }
        guard let found else {
            throw EndToEndFailure("\(name) was not heard; \(classic.values.dropFirst(count).map(\.name.rawValue))")
        }
        return found
    }

    /// Returns how often the observers by name received a message.
    func count(_ name: OverlayMessage.Name) -> Int { classic.values.count { $0.name == name } }

    /// Waits for a displayed frame that matches.
    func seen(_ what: String, _ matches: @escaping @Sendable (StampScreen.Sight) -> Bool) async throws {
        let (sights, before) = (screen.sights, screen.sights.values.count)
        let found = await sights.first { sight in matches(sight) && sights.values.count > before }
        if found == nil { throw EndToEndFailure("\(what) was not seen") }
    }

    /// The number of the displayed frame.
    var stamp: Int { screen.sights.values.last.map { Int($0.stamp.counter) } ?? -1 }

    /// Returns the number of the frame that was captured at a time, in milliseconds since 1970.
    static func stamp(at timecode: Int64) -> Int {
        Int((timecode - StampedProgramme.began.millisecondsSinceEpoch) * Int64(StampedProgramme.rate) / 1_000)
    }
}
