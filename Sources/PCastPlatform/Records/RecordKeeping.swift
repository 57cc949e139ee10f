public import PCastMedia
import PCastRecords

/// What lasts of a platform, where, and for how long; and how its notifications are sent.
public struct RecordKeeping: Sendable {
    /// The directory of the records; nil keeps them in memory, as long as the platform runs.
    public var directory: String?
    /// The file of the key that secrets are sealed with; nil for one in `directory`, made when there is none.
    public var keyFile: String?
    /// How long ended streams, and who watched them, are remembered.
    public var retention: TimeSpan
    /// Networks that callbacks may reach although they are not of the public internet.
    public var callbackNetworks: [IPNetwork]
    /// The wait after each failed attempt to notify; after the last, the notification is kept aside.
    public var notificationWaits: [TimeSpan]
    /// The application that there is where none is configured and none recorded.
    public var fallback: PlatformConfiguration.Application?

    /// Thirty days.
    public static let defaultRetention = TimeSpan.seconds(30 * 86_400)

    /// A second at first, a day at last, three days in all.
    public static let defaultNotificationWaits: [TimeSpan] = RetrySchedule.standard.waits

    public init(
        directory: String? = nil, keyFile: String? = nil, retention: TimeSpan = defaultRetention,
        callbackNetworks: [IPNetwork] = [], notificationWaits: [TimeSpan] = defaultNotificationWaits,
        fallback: PlatformConfiguration.Application? = nil
    ) {
        self.directory = directory
        self.keyFile = keyFile
        self.retention = retention
        self.callbackNetworks = callbackNetworks
        self.notificationWaits = notificationWaits
        self.fallback = fallback
    }
}
