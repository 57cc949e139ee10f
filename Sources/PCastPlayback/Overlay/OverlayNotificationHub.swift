import Foundation
import PCastOverlay
import Synchronization

/// Joins the overlays of a notification centre with those who listen and post there, by names and by types: the two are not
/// connected on Linux, so that what is said in one way is said here in the other.
///
/// What is posted here bears an ``Overlay`` as its object, or says that it is ours, and is not heard here again. Applications
/// post with any other object, or none, and all overlays of the centre hear it.
final class OverlayNotificationHub: Sendable {
    private struct WeakOverlay: Sendable { weak let value: Overlay? }
    private struct WeakHub: Sendable { weak let value: OverlayNotificationHub? }

    private struct State {
        var overlays: [WeakOverlay] = []
        nonisolated(unsafe) var observers: [any NSObjectProtocol] = []
        var listening: Task<Void, Never>?
    }

    /// Posts by types that wait to be heard.
    private static let backlog = 4_096
    private static let hubs = Mutex<[ObjectIdentifier: WeakHub]>([:])

    /// The one of a centre; lives as long as an overlay has it.
    static func shared(_ center: NotificationCenter) -> OverlayNotificationHub {
        hubs.withLock { hubs in
            hubs = hubs.filter { $0.value.value != nil }
            if let hub = hubs[ObjectIdentifier(center)]?.value { return hub }
            let hub = OverlayNotificationHub(center)
            hubs[ObjectIdentifier(center)] = WeakHub(value: hub)
            return hub
        }
    }

    private let center: NotificationCenter
    private let state = Mutex(State())

    private init(_ center: NotificationCenter) {
        self.center = center
        for name in OverlayMessage.Name.allCases {
            let observer = center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) {
                [weak self] notification in
                guard !(notification.object is Overlay), let message = OverlayMessage(notification) else { return }
                self?.hear(message, wasTyped: false)
            }
            state.withLock { $0.observers.append(observer) }
        }
        // By a sequence, since only that has an order; and begun here, since a task that begins would miss what is posted
        // before it runs.
        let messages = center.messages(for: OverlayNotification.self, bufferSize: Self.backlog)
        let posts = TypedPosts(messages.makeAsyncIterator())
        let listening = Task { [weak self] in
            while let notification = await posts.next() {
                if !notification.isOurs { self?.hear(notification.message, wasTyped: true) }
            }
        }
        state.withLock { $0.listening = listening }
    }

    deinit {
        state.withLock { state in
            state.listening?.cancel()
            for observer in state.observers { center.removeObserver(observer) }
        }
    }

    func add(_ overlay: Overlay) { state.withLock { $0.overlays.append(WeakOverlay(value: overlay)) } }

    func remove(_ overlay: Overlay) {
        state.withLock { state in state.overlays.removeAll { $0.value == nil || $0.value === overlay } }
    }

    /// Of an application, which has said it in one of the ways.
    private func hear(_ message: OverlayMessage, wasTyped: Bool) {
        let overlays = state.withLock { $0.overlays.compactMap(\.value) }
        guard let first = overlays.first else { return }
        if wasTyped { postClassic(message, of: first) } else { postTyped(message, of: first) }
        for overlay in overlays { overlay.post(message, isPublished: true) }
    }

    /// Says in both ways what an overlay has to say.
    func publish(_ message: OverlayMessage, of overlay: Overlay) {
        postClassic(message, of: overlay)
        postTyped(message, of: overlay)
    }

    private func postClassic(_ message: OverlayMessage, of overlay: Overlay) {
        center.post(name: Notification.Name(message.name), object: overlay, userInfo: message.userInfo)
    }

    private func postTyped(_ message: OverlayMessage, of overlay: Overlay) {
        center.post(OverlayNotification(message, isOurs: true), subject: overlay)
    }
}

/// What was posted by types, as one task reads it.
private final class TypedPosts<Iterator: AsyncIteratorProtocol>: @unchecked Sendable  // read by one task alone
where Iterator.Element == OverlayNotification, Iterator.Failure == Never {
    private var iterator: Iterator

    init(_ iterator: Iterator) { self.iterator = iterator }

    func next() async -> OverlayNotification? { await iterator.next(isolation: nil) }
}
