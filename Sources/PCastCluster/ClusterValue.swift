package import Foundation

/// A value of the database that all nodes of a cluster have: an application, a stream key or a webhook.
///
/// Each node keeps it in its own database, and writes it to the directory again if that has lost it. The value with the
/// highest version replaces the others.
package struct ClusterValue: Hashable, Sendable, Codable {
    /// The kind of a value.
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        case application
        case streamKey = "key"
        case callback = "webhook"
    }

    /// The kind.
    package var kind: Kind
    /// The application that the value belongs to.
    package var application: String
    /// The name, which is unique for the kind and the application. That of an application is `-`.
    package var name: String
    /// The version. The random part decides between equal numbers.
    package var version: StreamEpoch
    /// The content, which is encrypted in the directory; nil after the value was deleted.
    package var content: Data?

    /// The maximum number of bytes of a content.
    package static let maximumSize = 8_192

    /// Creates a value.
    package init(kind: Kind, application: String, name: String, version: StreamEpoch, content: Data?) {
        self.kind = kind
        self.application = application
        self.name = name
        self.version = version
        self.content = content
    }
}

/// A notification of a webhook that is not delivered yet. The owner delivers it, and removes it from the directory
/// afterwards. If the owner is lost, another node becomes the owner.
package struct ClusterNotification: Hashable, Sendable, Codable {
    /// The identifier, which the receiver of the webhook gets in each attempt.
    package var id: String
    /// The node that delivers it.
    package var owner: String
    /// The node at which the event happened.
    package var origin: String
    /// The position among the notifications of the origin, in whose order they are delivered.
    package var number: Int64
    /// The content, which is encrypted in the directory.
    package var content: Data

    /// The maximum number of bytes of a content.
    package static let maximumSize = 10_240

    /// Creates a notification.
    package init(id: String, owner: String, origin: String, number: Int64, content: Data) {
        self.id = id
        self.owner = owner
        self.origin = origin
        self.number = number
        self.content = content
    }
}
