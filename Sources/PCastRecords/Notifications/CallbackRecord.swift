public import PCastMedia

/// An address of an application's backend that is told what happens to its streams.
public struct CallbackRecord: Sendable, Hashable {
    public enum Method: String, Sendable, CaseIterable { case post = "POST", put = "PUT" }

    public var application: ApplicationID
    /// One of the application's own choosing.
    public var name: String
    public var uri: String
    public var method: Method
    public var secret: SigningSecret

    public init(application: ApplicationID, name: String, uri: String, method: Method, secret: SigningSecret) {
        self.application = application
        self.name = name
        self.uri = uri
        self.method = method
        self.secret = secret
    }

    /// By which it is known, whatever its address.
    public struct Key: Sendable, Hashable {
        public let application: ApplicationID
        public let name: String
    }

    public var key: Key { Key(application: application, name: name) }
}
