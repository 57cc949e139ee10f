public import PCastCore

/// A callback URI of an application's backend, which receives notifications about streams.
public struct CallbackRecord: Sendable, Hashable {
    /// The HTTP method of notifications.
    public enum Method: String, Sendable, CaseIterable { case post = "POST", put = "PUT" }

    /// The application.
    public var application: ApplicationID
    /// The name that the application chose for the callback.
    public var name: String
    /// The URI that receives the notifications.
    public var uri: String
    /// The HTTP method of the requests.
    public var method: Method
    /// The secret that signs the notifications.
    public var secret: SigningSecret

    /// Creates a record.
    public init(application: ApplicationID, name: String, uri: String, method: Method, secret: SigningSecret) {
        self.application = application
        self.name = name
        self.uri = uri
        self.method = method
        self.secret = secret
    }

    /// The key of a callback, which is independent of its URI.
    public struct Key: Sendable, Hashable {
        /// The application.
        public let application: ApplicationID
        /// The name of the callback.
        public let name: String
    }

    /// The key of the callback.
    public var key: Key { Key(application: application, name: name) }
}
