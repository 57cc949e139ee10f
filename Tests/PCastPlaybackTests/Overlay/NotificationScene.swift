import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import Testing

@testable import PCastPlayback

/// A served overlay with a page that controls it, and an application that listens for notifications.
final class NotificationScene: Sendable {
    typealias Keys = OverlayNotificationKeys

    private struct Observer: @unchecked Sendable { var token: any NSObjectProtocol }

    let served: ServedOverlay
    let page: ScriptedPage
    private let observers = Exclusive<[Observer]>([])
    private let sequence = Exclusive(2)

    /// Serves an overlay, to which a page has connected. Nothing is played yet.
    init() async throws {
        served = try await ServedOverlay()
        page = served.page()
    }

    /// Serves an overlay with a page that shows its content.
    static func open() async throws -> NotificationScene {
        let scene = try await NotificationScene()
        scene.page.say("bridge.ready", seq: 1)
        scene.page.say("app.ready", seq: 2)
        #expect(await scene.page.hears("bridge.welcome", "controller", .boolean(true)))
        return scene
    }

    /// Sends a message from the page.
    func say(_ event: String, _ metadata: String = "{}") {
        page.say(
            event, metadata,
            seq: sequence.change { number in
                number += 1
                return number
            })
    }

    /// Posts a notification as an application does, anywhere.
    func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
        served.center.post(name: name, object: nil, userInfo: userInfo)
    }

    /// Returns what an observer reads from the payload of each notification with that name from now on.
    func observe(
        _ name: Notification.Name, _ read: @escaping @Sendable ([AnyHashable: Any]) -> String = { _ in "" }
    ) -> AsyncStream<String>.Iterator {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let token = served.center.addObserver(forName: name, object: nil, queue: nil) { notification in
            continuation.yield(read(notification.userInfo ?? [:]))
        }
        observers.change { $0.append(Observer(token: token)) }
        return stream.makeAsyncIterator()
    }

    /// The same of one key, whose value has the type that Ease Live's page names.
    func observe<Value: Sendable>(
        _ name: Notification.Name, _ key: String, _ type: Value.Type
    ) -> AsyncStream<String>.Iterator {
        observe(name) { info in (info[key] as? Value).map { "\($0)" } ?? "no \(Value.self)" }
    }

    /// The same of the keys of a video scale.
    func observeScale(_ name: Notification.Name) -> AsyncStream<String>.Iterator {
        observe(name) { info in
            let keys = [
                Keys.videoScaleXUserInfoKey, Keys.videoScaleYUserInfoKey, Keys.videoPivotXUserInfoKey,
                Keys.videoPivotYUserInfoKey,
            ]
            let values = keys.map { info[$0] as? Float ?? -1 }
            return "\(values) \(info[Keys.videoScaleDurationUserInfoKey] as? Int ?? -1)"
        }
    }

    func close() async {
        for observer in observers.change({ $0 }) { served.center.removeObserver(observer.token) }
        page.close()
        await served.close()
    }
}
