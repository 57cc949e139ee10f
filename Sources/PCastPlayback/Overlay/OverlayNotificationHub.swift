public import Foundation
public import PCastOverlay
import Synchronization

/// Connects the overlays of a notification center with its observers and posters, both by name and by type. Foundation
/// on Linux does not connect the two forms, so this type forwards messages between them.
///
/// Messages from here have an ``Overlay`` as object, or `isOurs`, and are ignored here. Applications post with any
/// other object or none, and all overlays of the center receive the message.
final class OverlayNotificationHub: Sendable {
    private struct WeakOverlay: Sendable { weak let value: Overlay? }
    private struct WeakHub: Sendable { weak let value: OverlayNotificationHub? }

    private struct State {
        var overlays: [WeakOverlay] = []
        nonisolated(unsafe) var observers: [any NSObjectProtocol] = []
        var listening: Task<Void, Never>?
    }

    /// The maximum number of typed messages that wait.
    private static let backlog = 4_096
    private static let hubs = Mutex<[ObjectIdentifier: WeakHub]>([:])

    /// Returns the hub of a notification center. It exists as long as an overlay holds it.
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

    /// Creates a hub and observes the notification center.
    private init(_ center: NotificationCenter) {
        self.center = center
        for name in OverlayMessage.Name.allCases {
            let observer = center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) {
                [weak self] notification in
                guard !(notification.object is Overlay), let message = OverlayMessage(notification) else { return }
                self?.handle(message, wasTyped: false)
            }
            state.withLock { $0.observers.append(observer) }
        }
        // Only a sequence has an order. It is created here, because a message before the task's start would be lost.
        let messages = center.messages(for: OverlayNotification.self, bufferSize: Self.backlog)
        let posts = TypedPosts(messages.makeAsyncIterator())
        let listening = Task { [weak self] in
            while let notification = await posts.next() {
                if !notification.isOurs { self?.handle(notification.message, wasTyped: true) }
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

    /// Adds an overlay.
    func add(_ overlay: Overlay) { state.withLock { $0.overlays.append(WeakOverlay(value: overlay)) } }

    /// Removes an overlay.
    func remove(_ overlay: Overlay) {
        state.withLock { state in state.overlays.removeAll { $0.value == nil || $0.value === overlay } }
    }

    /// Handles a message of an application: forwards it to the other form and to all overlays.
    private func handle(_ message: OverlayMessage, wasTyped: Bool) {
        let overlays = state.withLock { $0.overlays.compactMap(\.value) }
        guard let first = overlays.first else { return }
        if wasTyped { postClassic(message, of: first) } else { postTyped(message, of: first) }
        for overlay in overlays { overlay.post(message, isPublished: true) }
    }

    /// Posts a message of an overlay in both forms.
    func publish(_ message: OverlayMessage, of overlay: Overlay) {
        postClassic(message, of: overlay)
        postTyped(message, of: overlay)
    }

    /// Posts a message by name.
    private func postClassic(_ message: OverlayMessage, of overlay: Overlay) {
        center.post(name: Notification.Name(message.name), object: overlay, userInfo: message.userInfo)
    }

    /// Posts a message by type.
    private func postTyped(_ message: OverlayMessage, of overlay: Overlay) {
        center.post(OverlayNotification(message, isOurs: true), subject: overlay)
    }
}

/// The sequence of typed messages, which one task reads.
private final class TypedPosts<Iterator: AsyncIteratorProtocol>: @unchecked Sendable  // read by one task alone
where Iterator.Element == OverlayNotification, Iterator.Failure == Never {
    private var iterator: Iterator

    init(_ iterator: Iterator) { self.iterator = iterator }

    /// Returns the next message; nil at the end.
    func next() async -> OverlayNotification? { await iterator.next(isolation: nil) }
}

/// An ``OverlayMessage`` as a typed message of `NotificationCenter`. All messages have this one type, because only one
/// sequence has an order:
///
///     for await notification in center.messages(for: OverlayNotification.self, bufferSize: 1_024) {
///         if case .playerTime(let time) = notification.message { … }
///     }
///
/// Observers by name receive the same messages with the names of ``OverlayNotificationKeys``. Messages that are posted
/// in one form are received in both.
public struct OverlayNotification: NotificationCenter.AsyncMessage {
    /// The subject of the message: the overlay that posted it.
    public typealias Subject = Overlay

    /// The name of the notification.
    public static var name: Notification.Name { Notification.Name("pcast.overlay.message") }

    /// The message.
    public let message: OverlayMessage
    /// Whether an overlay posted the message, or forwarded it from an observer by name.
    let isOurs: Bool

    /// Creates a message of an application.
    public init(_ message: OverlayMessage) { self.init(message, isOurs: false) }

    /// Creates a message.
    init(_ message: OverlayMessage, isOurs: Bool) { (self.message, self.isOurs) = (message, isOurs) }
}
