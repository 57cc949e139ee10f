public import Foundation
public import PCastOverlay

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
