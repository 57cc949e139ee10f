public import PCastCore
import PCastDatabase

/// The configuration of persistent data and of notifications.
public struct StorageConfiguration: Sendable {
    /// The directory of the database; nil for a database in memory.
    public var directory: String?
    /// The file of the key that encrypts secrets. If it is nil, a file in `directory` is used, and created if it is
    /// missing.
    public var keyFile: String?
    /// The time after which ended streams and their viewings are deleted.
    public var retention: Duration
    /// The networks that callbacks may use although they are not public.
    public var webhookAllowedNetworks: [IPNetwork]
    /// The delay after each failed attempt to deliver a notification. A failure after the last delay is final.
    public var notificationWaits: [Duration]
    /// The time after which a callback's response is considered missing.
    package var callbackTimeout = TimeSpan.seconds(15)
    /// The maximum time for which a request waits until its change is in the database.
    package var writeTimeout = TimeSpan.seconds(3)
    /// The application to use if none is configured and the database has none.
    public var fallback: PlatformConfiguration.Application?

    /// The default of `retention`, 30 days.
    public static let defaultRetention = Duration.seconds(30 * 86_400)

    /// The default of `notificationWaits`, which begins with a second and ends with a day, three days in total.
    public static let defaultNotificationWaits: [Duration] = RetrySchedule.standard.waits.map(\.duration)

    /// Creates a configuration.
    public init(
        directory: String? = nil, keyFile: String? = nil, retention: Duration = defaultRetention,
        webhookAllowedNetworks: [IPNetwork] = [], notificationWaits: [Duration] = defaultNotificationWaits,
        fallback: PlatformConfiguration.Application? = nil
    ) {
        self.directory = directory
        self.keyFile = keyFile
        self.retention = retention
        self.webhookAllowedNetworks = webhookAllowedNetworks
        self.notificationWaits = notificationWaits
        self.fallback = fallback
    }
}
