package import Foundation
package import PCastCore

/// A value of the database that all nodes of a cluster have, with its version: an application that the management API has
/// added, a stream key, or a webhook.
package struct ClusterValueRecord: Sendable, Hashable {
    /// The kind of a value, as the database names it.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case application
        case streamKey = "key"
        case callback = "webhook"
    }

    /// The version of a value. The higher number replaces the lower one, and the random part decides between equal numbers.
    package struct Version: Sendable, Hashable, Comparable {
        /// The number.
        package let number: UInt64
        /// The random part.
        package let claim: UInt64

        /// Creates a version.
        package init(number: UInt64, claim: UInt64) { (self.number, self.claim) = (number, claim) }

        /// Returns whether the right version replaces the left one.
        package static func < (left: Version, right: Version) -> Bool {
            (left.number, left.claim) < (right.number, right.claim)
        }
    }

    /// The kind.
    package var kind: Kind
    /// The application that the value belongs to.
    package var application: ApplicationID
    /// The name of the stream key or webhook; `-` for an application.
    package var name: String
    /// The version.
    package var version: Version
    /// The content as JSON, with its secret; nil if the value was deleted.
    package var content: Data?

    /// Creates a value.
    package init(kind: Kind, application: ApplicationID, name: String, version: Version, content: Data?) {
        self.kind = kind
        self.application = application
        self.name = name
        self.version = version
        self.content = content
    }
}

extension ClusterValueRecord: CustomStringConvertible {
    /// The kind and the name without the secret.
    package var description: String { "\(kind.rawValue) \(name) of \(application)" }
}

/// A notification of the outbox for another node.
package struct OutboxEntry: Sendable, Hashable, Codable {
    /// The identifier.
    package var id: String
    /// The application.
    package var application: String
    /// The stream.
    package var stream: String
    /// The name of a named stream; nil for an event of a stream itself.
    package var name: String?
    /// The queue in whose order notifications are delivered.
    package var queue: String
    /// The kind of event.
    package var kind: String
    /// The body of the request.
    package var body: Data
    /// The time of the event in milliseconds since 1970.
    package var time: Int64
}

/// The contents of values.
enum ClusterContent {
    struct Application: Codable {
        var secret: String
    }

    struct StreamKey: Codable {
        var secret: String
        var tags: [String]
        var capabilities: [String]
        var bitrate: Int64?
        var width: Int?
        var height: Int?
        var connections: Int?
        var created: Int64
        var rotated: Int64?
    }

    struct Callback: Codable {
        var uri: String
        var method: String
        var secret: String
    }
}
