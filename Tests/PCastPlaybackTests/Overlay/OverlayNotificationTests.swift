import Foundation
import PCastOverlay
import Testing

@testable import PCastPlayback

/// Records the calls that it receives.
final class ScriptedPlugin: OverlayPlayerPlugin {
    private let notes = Exclusive<[String]>([])
    private let heard = Exclusive<[OverlayMessage]>([])

    var calls: [String] { notes.change { $0 } }
    var received: [OverlayMessage] { heard.change { $0 } }

    private func note(_ text: String) { notes.change { $0.append(text) } }

    func create(_ overlay: Overlay) { note("create \(overlay.program)") }
    func load() { note("load") }
    func pause() { note("pause") }
    func destroy() { note("destroy") }
    func receive(_ message: OverlayMessage) { heard.change { $0.append(message) } }
    func setTime(_ timecode: Int64) { note("time \(timecode)") }
    func setState(_ state: OverlayPlayerState) { note("state \(state)") }
    func setSpeed(_ speed: Double) { note("speed \(speed)") }
    func setVolume(_ volume: Int) { note("volume \(volume)") }
    func setMute(_ isMuted: Bool) { note("mute \(isMuted)") }
    func setVideoScale(_ scale: VideoScale) { note("scale \(scale.scaleX)") }
    func setControllerVisible(_ isVisible: Bool) { note("controls \(isVisible)") }
    func didSwipeStage(_ direction: OverlaySwipe) { note("swipe \(direction)") }
}

@Suite("Overlays and observers of notifications", .timeLimit(.minutes(5)))
struct OverlayNotificationTests {
    private static let error = OverlayError(.warning, .playerConnectivity, reason: "late", code: 4, programId: "p")
    private static let scale = VideoScale(scaleX: 0.5, scaleY: 0.25, pivotX: 1, pivotY: 0, duration: 300)

    /// One message of each of the 26 kinds.
    private static let all: [OverlayMessage] = [
        .easeLiveReady, .easeLiveError(error), .appLanguage("de"), .appMessage("{}"), .bridgeAppStatus(.hidden),
        .bridgeReady, .bridgeStage(.visible), .bridgeStageSwipe(.up), .bridgeTime(1_790_000_000_000),
        .bridgeState(.paused), .bridgeLanguage("de", available: ["de", "en"]), .bridgeMessage("{\"a\":1}"),
        .bridgeSpeed(0.5), .bridgeVolume(40), .bridgeMute(true), .bridgeVideoScale(scale), .playerReady,
        .playerTime(OverlayTime(timecode: 3, initialTimecode: 1, maxTimecode: 9)), .playerError(error),
        .playerMetadata("{}"), .playerState(.seeking), .playerStage(.hidden), .playerSpeed(2), .playerVolume(7),
        .playerMute(false), .playerVideoScale(scale),
    ]

    @Test("each of the 26 messages is unchanged after a notification", arguments: all)
    func payload(message: OverlayMessage) {
        let name = Notification.Name(message.name.rawValue)
        #expect(OverlayMessage(Notification(name: name, object: nil, userInfo: message.userInfo)) == message)
    }

    @Test("a missing payload or one of another type is ignored, and numbers may have any type")
    func strange() {
        func read(_ name: Notification.Name, _ info: [AnyHashable: Any]) -> OverlayMessage? {
            OverlayMessage(Notification(name: name, object: nil, userInfo: info))
        }
        #expect(Set(Self.all.map(\.name)).count == 26)
        #expect(read(OverlayNotificationKeys.playerTime, [:]) == nil)
        #expect(read(OverlayNotificationKeys.playerTime, ["timecode": "5"]) == nil)
        #expect(read(OverlayNotificationKeys.playerTime, ["timecode": true]) == nil)
        #expect(read(OverlayNotificationKeys.bridgeTime, ["timecode": 5]) == .bridgeTime(5))
        #expect(read(OverlayNotificationKeys.bridgeTime, ["timecode": UInt64.max]) == nil)
        #expect(read(OverlayNotificationKeys.bridgeSpeed, ["speed": 2]) == .bridgeSpeed(2))
        #expect(read(OverlayNotificationKeys.bridgeSpeed, ["speed": Float(0.5)]) == .bridgeSpeed(0.5))
        #expect(read(OverlayNotificationKeys.playerState, ["state": "flying"]) == nil)
        #expect(read(Notification.Name("something"), [:]) == nil)
        #expect(OverlayNotificationKeys.playerVideoScale.rawValue == "easelive.player.videoscale")
        #expect(OverlayNotificationKeys.videoScaleDurationUserInfoKey == "scaleDuration")
    }

    /// The messages that observers of both kinds receive.
    private final class Listeners: Sendable {
        let center = NotificationCenter()
        let classic = Exclusive<[OverlayMessage]>([])
        let typed: AsyncStream<OverlayMessage>
        private struct Tokens: @unchecked Sendable { var values: [any NSObjectProtocol] }
        private let tokens: Tokens
        private let listening: Task<Void, Never>

        init() async {
            let (center, classic) = (center, classic)
            tokens = Tokens(
                values: OverlayMessage.Name.allCases.map { name in
                    center.addObserver(forName: Notification.Name(name.rawValue), object: nil, queue: nil) {
                        notification in
                        if let message = OverlayMessage(notification) { classic.change { $0.append(message) } }
                    }
                })
            let messages = center.messages(for: OverlayNotification.self, bufferSize: 1_024)
            let (stream, continuation) = AsyncStream.makeStream(of: OverlayMessage.self)
            typed = stream
            let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
            listening = Task {
                var iterator = messages.makeAsyncIterator()
                beginning.finish()
                while let notification = await iterator.next(isolation: nil) {
                    continuation.yield(notification.message)
                }
            }
            for await _ in begun {}
        }

        deinit {
            for token in tokens.values { center.removeObserver(token) }
            listening.cancel()
        }
    }

    @Test(
        "a message posted in one form arrives in both, once, and at the overlay; two overlays do not echo each other"
    )
    func twoWorlds() async throws {
        let listeners = await Listeners()
        let (plugin, otherPlugin) = (ScriptedPlugin(), ScriptedPlugin())
        let overlay = try Overlay(program: "a", player: plugin, center: listeners.center)
        let other = try Overlay(program: "b", player: otherPlugin, center: listeners.center)
        overlay.load()
        other.load()
        var typed = listeners.typed.makeAsyncIterator()

        // Posted by name.
        listeners.center.post(
            name: OverlayNotificationKeys.playerTime, object: nil,
            userInfo: [OverlayNotificationKeys.timecodeUserInfoKey: Int64(5)])
        #expect(await typed.next() == .playerTime(OverlayTime(timecode: 5)))
        // Posted as a type.
        listeners.center.post(OverlayNotification(.bridgeMute(true)), subject: overlay)
        #expect(await typed.next() == .bridgeMute(true))
        // The observers that forward messages to the overlays may be notified later than the others.
        while otherPlugin.received.count < 2 {
            await other.settled()
            await Task.yield()
        }
        // Posted by an overlay.
        overlay.post(.playerVolume(30))
        #expect(await typed.next() == .playerVolume(30))
        await overlay.settled()
        await other.settled()
        #expect(
            listeners.classic.change { $0 } == [
                .playerTime(OverlayTime(timecode: 5)), .bridgeMute(true), .playerVolume(30),
            ])
        #expect(plugin.calls == ["create a", "load", "mute true"])
        #expect(otherPlugin.calls == ["create b", "load", "mute true"], "an application sends to all of them")
        #expect(plugin.received.map(\.name) == [.playerTime, .bridgeMute, .playerVolume])
        #expect(otherPlugin.received.map(\.name) == [.playerTime, .bridgeMute])
        // No other message follows: the next one is the next to be posted.
        other.destroy()
        overlay.post(.playerMute(false))
        #expect(await typed.next() == .playerMute(false))
        await overlay.settled()
        await other.settled()
        #expect(otherPlugin.calls == ["create b", "load", "mute true", "destroy"])
        #expect(otherPlugin.received.map(\.name) == [.playerTime, .bridgeMute])
    }

    @Test("its life cycle is that of Ease Live: plugins follow it, and a fatal error ends it")
    func life() async throws {
        let (plugin, another) = (ScriptedPlugin(), ScriptedPlugin())
        let overlay = try Overlay(program: "final.2", player: plugin, center: NotificationCenter())
        let messages = overlay.messages()
        overlay.use(another)
        overlay.create()
        overlay.load()
        overlay.pause()
        overlay.load()
        overlay.post(.bridgeStage(.visible))
        overlay.post(.bridgeStageSwipe(.left))
        overlay.post(.easeLiveError(.viewInit(level: .fatal, reason: "no page")))
        var heard: [OverlayMessage.Name] = []
        for await message in messages { heard.append(message.name) }
        #expect(heard == [.bridgeStage, .bridgeStageSwipe, .easeLiveError])
        await overlay.settled()
        #expect(
            plugin.calls == [
                "create final.2", "load", "pause", "load", "controls true", "swipe left", "destroy",
            ])
        #expect(another.calls == ["create final.2", "load", "pause", "load", "destroy"])
        #expect(overlay.phase == .destroyed)
        #expect(throws: OverlayError.self) { _ = try Overlay(program: "a/b") }
        #expect(throws: OverlayError.self) { _ = try Overlay(program: "..") }
    }

    @Test("a plugin is notified of its creation once, whenever it is added")
    func latePlugins() async throws {
        for turn in 0..<200 {
            let overlay = try Overlay(program: "final", player: ScriptedPlugin(), center: NotificationCenter())
            let plugins = (0..<4).map { _ in ScriptedPlugin() }
            await withTaskGroup { group in
                group.addTask {
                    overlay.create()
                    overlay.load()
                }
                for plugin in plugins { group.addTask { overlay.use(plugin) } }
            }
            await overlay.settled()
            for plugin in plugins { #expect(plugin.calls == ["create final", "load"], "iteration \(turn)") }
        }
    }

    @Test("an overlay that is not retained is released and stops observing its center")
    func leaks() async throws {
        let center = NotificationCenter()
        weak var gone: Overlay?
        do {
            let overlay = try Overlay(program: "a", center: center)
            overlay.load()
            await overlay.settled()
            gone = overlay
        }
        #expect(gone == nil)
    }
}
