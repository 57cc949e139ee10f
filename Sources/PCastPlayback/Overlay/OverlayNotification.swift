public import Foundation
public import PCastOverlay

/// An ``OverlayMessage`` for those who follow `NotificationCenter` by types. One type for all 26, since only what one sequence
/// brings has an order:
///
///     for await notification in center.messages(for: OverlayNotification.self, bufferSize: 1_024) {
///         if case .playerTime(let time) = notification.message { … }
///     }
///
/// Classic observers hear the same by the names of ``OverlayNotificationKeys``, and what either kind of poster says both hear.
public struct OverlayNotification: NotificationCenter.AsyncMessage {
    public typealias Subject = Overlay

    public static var name: Notification.Name { Notification.Name("pcast.overlay.message") }

    public let message: OverlayMessage
    /// Posted here, for what an overlay said, or what was said in the classic way.
    let isOurs: Bool

    public init(_ message: OverlayMessage) { self.init(message, isOurs: false) }

    init(_ message: OverlayMessage, isOurs: Bool) { (self.message, self.isOurs) = (message, isOurs) }
}
