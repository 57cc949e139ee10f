import Foundation
import PCastCompatibility
import PCastPlayback
import Testing

/// An application with the samples of Ease Live's documentation, with blocks in place of `#selector`, which Linux does not have.
class EaseLiveApplication {
    var received: [String] = []
    var tokens: [NSObjectProtocol] = []

    init() {
        tokens.append(
            NotificationCenter.default.addObserver(
                forName: EaseLiveNotificationKeys.easeLiveReady,
                object: nil,
                queue: nil
            ) { [unowned self] notification in onEaseLiveReady(notification: notification) })
        tokens.append(
            NotificationCenter.default.addObserver(
                forName: EaseLiveNotificationKeys.easeLiveError, object: nil, queue: nil
            ) { [unowned self] notification in onEaseLiveError(notification: notification) })
        tokens.append(
            NotificationCenter.default.addObserver(
                forName: EaseLiveNotificationKeys.playerTime, object: nil, queue: nil
            ) { [unowned self] notification in
                let timecode = notification.userInfo?[EaseLiveNotificationKeys.timecodeUserInfoKey] as? Int64
                received.append("time \(timecode ?? -1)")
            })
    }

    func onEaseLiveReady(notification: Notification) { received.append("ready") }

    func onEaseLiveError(notification: Notification) {
        guard let error = notification.userInfo?[EaseLiveNotificationKeys.errorUserInfoKey] as? EaseLiveError else {
            return
        }
        if error.level == EaseLiveError.Level.fatal {
            received.append("fatal: \(error.reason)")
        } else {
            received.append("warning")
        }
    }

    func tick(_ currentTimecode: Int64) {
        NotificationCenter.default.post(
            name: EaseLiveNotificationKeys.playerTime,
            object: nil,
            userInfo: [
                EaseLiveNotificationKeys.timecodeUserInfoKey: currentTimecode
            ])
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
}

/// The requests that an adapted player receives.
final class PlayerPlugin: PlayerPluginInterface, @unchecked Sendable {  // called by one at a time
    var asked: [String] = []

    func setTime(_ timecode: Int64) { asked.append("time \(timecode)") }
    func setState(_ state: OverlayPlayerState) { asked.append(state.rawValue) }
    func setSpeed(_ speed: Double) { asked.append("speed \(speed)") }
    func setVolume(_ volume: Int) { asked.append("volume \(volume)") }
    func setMute(_ isMuted: Bool) { asked.append("mute \(isMuted)") }
    func setVideoScale(_ scale: VideoScale) { asked.append("scale \(scale.scaleX)") }
}

@Suite("Code for Ease Live's SDK")
struct EaseLiveTests {
    @Test("the samples of “Events” compile, and run")
    func events() async throws {
        let (application, plugin) = (EaseLiveApplication(), PlayerPlugin())
        let overlay = try EaseLive(program: "final", player: plugin)
        overlay.create()
        overlay.load()
        application.tick(1_790_000_000_000)
        // The notification reached the overlay, and each observer received it once.
        NotificationCenter.default.post(
            name: EaseLiveNotificationKeys.bridgeVideoScale, object: nil,
            userInfo: [
                EaseLiveNotificationKeys.videoScaleXUserInfoKey: Float(0.5),
                EaseLiveNotificationKeys.videoScaleYUserInfoKey: Float(0.5),
                EaseLiveNotificationKeys.videoPivotXUserInfoKey: Float(1),
                EaseLiveNotificationKeys.videoPivotYUserInfoKey: Float(0),
                EaseLiveNotificationKeys.videoScaleDurationUserInfoKey: 300,
            ])
        NotificationCenter.default.post(
            name: EaseLiveNotificationKeys.bridgeState, object: nil,
            userInfo: [EaseLiveNotificationKeys.stateUserInfoKey: "paused"])
        NotificationCenter.default.post(
            name: EaseLiveNotificationKeys.bridgeVolume, object: nil,
            userInfo: [EaseLiveNotificationKeys.volumeUserInfoKey: 40])
        overlay.post(.playerError(.playerInit(level: .fatal, reason: "no decoder")))
        await overlay.settled()
        #expect(plugin.asked == ["scale 0.5", "paused", "volume 40"])
        #expect(application.received == ["time 1790000000000", "fatal: no decoder"])
        #expect(overlay.phase == .destroyed)
    }
}
